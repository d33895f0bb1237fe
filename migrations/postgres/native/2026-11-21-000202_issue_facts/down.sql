drop trigger log_recovery on recoveries;
drop function log_recovery;
drop view issue_facts;
drop view live_step_runs;
drop view issue_candidates;
drop view unattended_issues;
drop view issue_continuations;
drop view issue_runs;
