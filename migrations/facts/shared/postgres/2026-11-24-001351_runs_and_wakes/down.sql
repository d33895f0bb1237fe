drop view if exists worked_steps;
drop view if exists pending_wakes;
drop view if exists issue_runs;
