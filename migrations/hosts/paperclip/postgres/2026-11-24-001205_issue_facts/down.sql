drop view issue_facts;
drop function resume_commands_of;
drop view too_large;
drop view issue_candidates;
drop view unattended_issues;
drop view issue_subjects;
