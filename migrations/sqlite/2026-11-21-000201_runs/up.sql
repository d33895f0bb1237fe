-- What is being done: wakes ask that an agent resume work, runs are the work; comments and activity tell of it.

create table wakes (
    id           text not null primary key,
    agent_id     text not null references agents,
    issue_id     text references issues,
    plan_step_id text references plan_steps,
    reason       text not null,
    payload      text not null default '{}' check (json_valid(payload)),
    status       text not null default 'queued'
                 check (status in ('queued', 'deferred', 'claimed', 'completed', 'skipped', 'failed', 'cancelled')),
    requested_by text not null,
    created_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z'),
    updated_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at like '____-__-__T__:__:__.___Z')
) strict;

create table runs (
    id           text not null primary key,
    agent_id     text not null references agents,
    issue_id     text references issues,
    plan_step_id text references plan_steps,
    wake_id      text references wakes,               -- the wake that started it
    retry_reason text,                                -- issue_continuation_needed: a continuation, whoever queued it
    status       text not null default 'queued'
                 check (status in ('queued', 'scheduled_retry', 'running', 'succeeded', 'interrupted', 'failed', 'cancelled', 'timed_out')),
    created_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z'),
    finished_at  text check (finished_at like '____-__-__T__:__:__.___Z')
) strict;

create table comments (
    id         text not null primary key,
    issue_id   text not null references issues,
    author     text not null,
    body       text not null,
    created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z')
) strict;

create table activity (
    id          integer primary key,
    actor       text not null,
    action      text not null,
    entity_type text not null,
    entity_id   text not null,
    details     text not null default '{}' check (json_valid(details)),
    created_at  text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z')
) strict;

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
