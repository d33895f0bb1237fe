drop view if exists issue_facts;
drop function if exists resume_commands_of;
drop view if exists too_large;
drop view if exists issue_candidates;
drop view if exists unattended_issues;
drop view if exists issue_subjects;
