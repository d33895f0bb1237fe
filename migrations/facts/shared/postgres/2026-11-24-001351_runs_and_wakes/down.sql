drop view if exists worked_steps;
drop view pending_wakes;
drop view issue_runs;
