drop view worked_steps;
drop view pending_wakes;
drop view issue_runs;
