-- A team's own tables, as they are before sweep comes: tasks, the workers that do them, and the jobs in which they do.
create table workers (
    id bigint generated always as identity primary key,
    name text not null,
    enabled boolean not null default true
);

create table tasks (
    id bigint generated always as identity primary key,
    title text not null,
    state text not null default 'open' check (state in ('open', 'doing', 'stuck', 'done')),
    worker_id bigint references workers,
    note text not null default '',
    changed_at timestamptz not null default now()
);

-- A worker takes a queued job of its own, and sets it running.
create table jobs (
    id bigint generated always as identity primary key,
    task_id bigint not null references tasks,
    worker_id bigint not null references workers,
    state text not null default 'queued' check (state in ('queued', 'running', 'done', 'failed')),
    queued_at timestamptz not null default now(),
    ended_at timestamptz
);
create index jobs_by_task on jobs (task_id, queued_at);
create index jobs_queued on jobs (queued_at) where state = 'queued';
