drop view if exists issue_candidates;
drop view if exists unattended_issues;
drop view if exists issue_subjects;
