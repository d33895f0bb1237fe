drop view if exists observed_runs;
