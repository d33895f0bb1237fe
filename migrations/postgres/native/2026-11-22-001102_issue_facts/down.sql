drop view issue_facts;
drop view issue_candidates;
drop view unattended_issues;
drop view issue_subjects;
drop view issue_relaunches;
drop view issue_sessions;
drop view live_step_runs;
drop view issue_runs;
