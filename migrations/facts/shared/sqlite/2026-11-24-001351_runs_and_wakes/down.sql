drop view if exists worked_steps;
drop view pending_wakes;
drop view host_continuations;
drop view issue_runs;
