-- What is being done: wakes ask that an agent resume work, runs are the work; comments and activity tell of it.

create table wakes (
    id           uuid primary key default gen_random_uuid(),
    agent_id     uuid not null references agents,
    issue_id     uuid references issues,
    plan_step_id uuid references plan_steps,
    reason       text not null,
    payload      jsonb not null default '{}',
    status       text not null default 'queued'
                 check (status in ('queued', 'deferred', 'claimed', 'completed', 'skipped', 'failed', 'cancelled')),
    requested_by text not null,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now()
);

create table runs (
    id           uuid primary key default gen_random_uuid(),
    agent_id     uuid not null references agents,
    issue_id     uuid references issues,
    plan_step_id uuid references plan_steps,
    wake_id      uuid references wakes,               -- the wake that started it
    retry_reason text,                                -- issue_continuation_needed: a continuation, whoever queued it
    status       text not null default 'queued'
                 check (status in ('queued', 'scheduled_retry', 'running', 'succeeded', 'interrupted', 'failed', 'cancelled', 'timed_out')),
    created_at   timestamptz not null default now(),
    finished_at  timestamptz
);
alter table issues add foreign key (checkout_run_id) references runs;

create table comments (
    id         uuid primary key default gen_random_uuid(),
    issue_id   uuid not null references issues,
    author     text not null,
    body       text not null,
    created_at timestamptz not null default now()
);

create table activity (
    id          bigint generated always as identity primary key,
    actor       text not null,
    action      text not null,
    entity_type text not null,
    entity_id   text not null,
    details     jsonb not null default '{}',
    created_at  timestamptz not null default now()
);

-- What the candidates need: the few rows in flight. Facts and history of one subject: the rest.
create index runs_live on runs (issue_id) where status in ('queued', 'scheduled_retry', 'running');
create index runs_live_by_step on runs (plan_step_id) where status in ('queued', 'scheduled_retry', 'running');
create index runs_by_issue on runs (issue_id, created_at);
create index runs_by_step on runs (plan_step_id, created_at);
create index runs_by_wake on runs (wake_id);
create index wakes_pending on wakes (issue_id, created_at) where status in ('queued', 'deferred', 'claimed');
create index wakes_by_step on wakes (plan_step_id, created_at);
create index comments_by_issue on comments (issue_id, created_at);
create index activity_by_entity on activity (entity_type, entity_id);
