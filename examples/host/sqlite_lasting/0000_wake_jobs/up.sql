-- Which of our wakes is which job. The views read it as wake_jobs.
create table sweep_wake_jobs (
    wake_id text primary key,
    job_id integer not null unique,
    requested_by text not null,
    reason text not null
);
