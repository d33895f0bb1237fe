-- The control plane that sweep brings when there is no other host: agents, their issues, runs and wakes.

create table agents (
    id         uuid primary key default gen_random_uuid(),
    name       text not null,
    status     text not null default 'idle'
               check (status in ('active', 'idle', 'running', 'error', 'paused', 'pending_approval', 'terminated')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);

create table issues (
    id                uuid primary key default gen_random_uuid(),
    tenant            text not null default 'default',
    identifier        text not null unique,
    title             text not null,
    status            text not null default 'todo'
                      check (status in ('backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled')),
    assignee_agent_id uuid references agents,
    assignee_user_id  text,
    checkout_run_id   uuid,                           -- the run that holds the issue; references runs, below
    waiting_for       text,                           -- a declared wait: approval, question, blocker, …
    wait_until        timestamptz,                    -- when that wait ends; null with waiting_for: until it is cleared
    started_at        timestamptz,
    created_at        timestamptz not null default now(),
    updated_at        timestamptz not null default now()
);

create table wakes (
    id           uuid primary key default gen_random_uuid(),
    agent_id     uuid not null references agents,
    issue_id     uuid references issues,
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
    id          uuid primary key default gen_random_uuid(),
    actor       text not null,
    action      text not null,
    entity_type text not null,
    entity_id   text not null,
    details     jsonb not null default '{}',
    created_at  timestamptz not null default now()
);

-- What the candidates need: the few rows in flight, in the order of the scan, however many are finished.
create index issues_in_progress on issues (updated_at, id)
    where status = 'in_progress' and assignee_agent_id is not null and assignee_user_id is null;
create index runs_live on runs (issue_id) where status in ('queued', 'scheduled_retry', 'running');
create index runs_by_issue on runs (issue_id, created_at);
create index runs_by_wake on runs (wake_id);
create index wakes_pending on wakes (issue_id, created_at) where status in ('queued', 'deferred', 'claimed');
create index comments_by_issue on comments (issue_id, created_at);
create index activity_by_entity on activity (entity_type, entity_id);
