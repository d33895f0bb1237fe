-- The same tables as in tables.sql, in a file of SQLite's.
create table workers (
    id integer primary key,
    name text not null,
    enabled integer not null default 1
);

create table tasks (
    id integer primary key,
    title text not null,
    state text not null default 'open' check (state in ('open', 'doing', 'stuck', 'done')),
    worker_id integer references workers,
    note text not null default '',
    changed_at text not null default current_timestamp
);

create table jobs (
    id integer primary key,
    task_id integer not null references tasks,
    worker_id integer not null references workers,
    state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
    queued_at text not null default current_timestamp,
    ended_at text
);
create index jobs_by_task on jobs (task_id, queued_at);
create index jobs_queued on jobs (queued_at) where state = 'queued';
