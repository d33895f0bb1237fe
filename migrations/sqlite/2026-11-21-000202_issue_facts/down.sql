drop trigger log_recovery;
drop view issue_facts;
drop view worked_steps;
drop view issue_episodes;
drop view issue_candidates;
drop view unattended_issues;
drop view host_continuations;
drop view issue_runs;
