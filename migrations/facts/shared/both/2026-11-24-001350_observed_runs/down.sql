drop view observed_runs;
