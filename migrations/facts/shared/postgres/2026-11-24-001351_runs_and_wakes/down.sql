drop view if exists worked_steps;
drop view if exists pending_wakes;
drop view issue_runs;
