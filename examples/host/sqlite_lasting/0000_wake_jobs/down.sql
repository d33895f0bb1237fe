drop table sweep_wake_jobs;
