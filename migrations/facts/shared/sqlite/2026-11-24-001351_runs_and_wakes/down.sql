drop view if exists worked_steps;
drop view if exists pending_wakes;
drop view host_continuations;
drop view issue_runs;
