-- The control plane that sweep brings when there is no other host: what there is to do and by whom, and what is being done.
-- What rows are called by is bounded here; all that describes them may be of any length, and the views cut it.

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
    tenant            text not null default 'default' check (length(tenant) <= 200),
    identifier        text not null unique check (length(identifier) <= 200),
    title             text not null,
    status            text not null default 'todo'
                      check (status in ('backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled')),
    assignee_agent_id uuid references agents,
    assignee_user_id  text,
    checkout_run_id   uuid,                           -- the run that holds the issue; references runs, below
    waiting_for       text,                           -- a declared wait: approval, question, blocker, ...
    wait_until        timestamptz,                    -- when that wait ends; null with waiting_for: until it is cleared
    unblock_action    text,                           -- while it is blocked: what a person has to do
    started_at        timestamptz,
    created_at        timestamptz not null default now(),
    updated_at        timestamptz not null default now()
);

-- Plans are ordered steps that an agent works through, or that a client pulls when the plan has no agent.
create table plans (
    id                    uuid primary key default gen_random_uuid(),
    tenant                text not null default 'default' check (length(tenant) <= 200),
    title                 text not null,
    status                text not null default 'draft'
                          check (status in ('draft', 'executing', 'stalled', 'completed', 'failed', 'cancelled')),
    agent_id              uuid references agents,     -- null: its client pulls, nobody can be woken
    issue_id              uuid references issues,     -- where an escalation is written
    stalled_after_seconds integer check (stalled_after_seconds > 0),
    created_at            timestamptz not null default now(),
    updated_at            timestamptz not null default now()
);

create table plan_steps (
    id                    uuid primary key default gen_random_uuid(),
    plan_id               uuid not null references plans on delete cascade,
    position              integer not null,
    title                 text not null,
    status                text not null default 'pending'
                          check (status in ('pending', 'in_progress', 'completed', 'skipped', 'failed')),
    stalled_after_seconds integer check (stalled_after_seconds > 0),
    started_at            timestamptz,
    updated_at            timestamptz not null default now(),
    unique (plan_id, position)
);

-- Wakes ask that an agent resume work, runs are the work.
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

-- A session is a process in which an agent works, and its supervisor keeps this row current: `sweep watch`, or a host's own.
-- Whoever finds it stuck writes a command, and the supervisor delivers it.
create table sessions (
    id                   uuid primary key default gen_random_uuid(),
    tenant               text not null default 'default' check (length(tenant) <= 200),
    identifier           text unique check (length(identifier) <= 200), -- what people call it
    title                text not null default '',    -- what runs in it
    agent_id             uuid references agents,      -- null: whoever started it
    issue_id             uuid references issues,      -- what it works on, and where an escalation is written
    status               text not null default 'created'
                         check (status in ('created', 'active', 'paused', 'terminated', 'interrupted')),
    stall_paused         boolean not null default false, -- nobody may disturb it
    started_at           timestamptz,                 -- of its present process
    last_activity_at     timestamptz,                 -- any sign of life; null: as started_at
    last_progress_at     timestamptz,                 -- a step forward, no repetition; null: as started_at
    last_tool            text,
    recent_output        text not null default '',    -- the last lines of its screen
    exit_code            integer,                     -- null: it runs, or was ended by a signal
    ended_at             timestamptz,                 -- null: its process runs
    silent_after_seconds integer check (silent_after_seconds > 0),
    takes_nudges         boolean not null default true, -- may something be typed into it now?
    agent_state          text check (agent_state in ('working', 'idle', 'waiting', 'exhausted')), -- null: unknown
    agent_state_kind     text,                        -- what it waits for: permission, trust, login, ...; or has run out of
    agent_state_since    timestamptz,
    agent_question       text,                        -- the words with which it asks a person
    agent_state_evidence text,                        -- how that is known
    resumes_at           timestamptz,                 -- when its quota is filled again
    created_at           timestamptz not null default now(),
    updated_at           timestamptz not null default now()
);

create table session_commands (
    id           uuid primary key default gen_random_uuid(),
    session_id   uuid not null references sessions on delete cascade,
    command      text not null check (command in ('nudge', 'relaunch')),
    message      text check (length(message) <= 10000), -- what a nudge types
    status       text not null default 'queued' check (status in ('queued', 'delivered', 'failed')),
    requested_by text not null,
    created_at   timestamptz not null default now(),
    updated_at   timestamptz not null default now()
);

-- What people read.
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

-- What the candidates need: the few rows in progress and in flight, in the order of the scan, however many are finished.
create index issues_in_progress on issues (updated_at, id) include (assignee_agent_id, tenant)
    where status = 'in_progress' and assignee_agent_id is not null and assignee_user_id is null;
create index plan_steps_in_progress on plan_steps (coalesce(started_at, updated_at), id) where status = 'in_progress';
create index runs_live on runs (issue_id) where status in ('queued', 'scheduled_retry', 'running');
create index runs_live_by_step on runs (plan_step_id) where status in ('queued', 'scheduled_retry', 'running');
create index wakes_pending on wakes (issue_id, created_at) where status in ('queued', 'deferred', 'claimed');
create index sessions_active on sessions (issue_id, id) where status = 'active';
create index sessions_paused on sessions (issue_id) where status = 'paused';
create index session_commands_queued on session_commands (session_id, created_at) where status = 'queued';

-- Facts and history of one subject: the rest.
create index plans_by_issue on plans (issue_id);
create index runs_by_issue on runs (issue_id, created_at);
create index runs_by_step on runs (plan_step_id, created_at);
create index runs_by_wake on runs (wake_id);
create index runs_of_wakes on runs (created_at) where wake_id is not null;
create index wakes_by_step on wakes (plan_step_id, created_at);
create index sessions_by_issue on sessions (issue_id, created_at);
create index session_commands_by_session on session_commands (session_id, created_at);
create index comments_by_issue on comments (issue_id, created_at);
create index activity_by_entity on activity (entity_type, entity_id);

-- What all of this host's facts go by, and what people are advised to do: one row.
create view host_behavior as
select 0.5::float8 as run_end_grace_seconds,          -- after the end of a run its host has so long to say what follows
       'set it to in progress or todo' as resume_advice;  -- how a person has its agent go on with a blocked issue

-- The host's own activity log shows what the ledger holds.
create function log_recovery() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    insert into activity (actor, action, entity_type, entity_id, details)
    values ('sweep', new.kind || '.' || new.action, new.kind, new.subject_id::text,
            jsonb_build_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id));
    return null;
end $$;
create trigger log_recovery after insert on recoveries for each row execute function log_recovery();

-- That a run of an issue has ended is passed at once to a daemon that listens.
create function notify_of_run_end() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', new.issue_id::text);
    return null;
end $$;
create trigger notify_of_run_end after update of status on runs for each row
when (new.issue_id is not null
      and old.status in ('queued', 'scheduled_retry', 'running')
      and new.status not in ('queued', 'scheduled_retry', 'running'))
execute function notify_of_run_end();

-- Else anybody could put one of them on a table of his own.
revoke execute on function log_recovery, notify_of_run_end from public;

-- A continuation was in vain if a run that had begun before its wake, and was not started by it, reported afterwards: its
-- owner was alive. Only success is a report: a run is also failed, timed out, interrupted or cancelled by others.
create view false_rescues as
select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, report.at as reported_at
from recoveries c
cross join lateral (
    select min(r.finished_at) as at
    from (
        select r.* from runs r where c.kind = 'issue' and r.issue_id = c.subject_id
        union all
        select r.* from issues i join plans p on p.issue_id = i.id and p.tenant = i.tenant
        join plan_steps s on s.plan_id = p.id join runs r on r.plan_step_id = s.id
        where c.kind = 'issue' and i.id = c.subject_id
        union all
        select r.* from runs r where c.kind = 'step' and r.plan_step_id = c.subject_id
        union all
        select r.* from wakes w join runs r on r.wake_id = w.id where c.kind = 'step' and w.plan_step_id = c.subject_id
    ) r
    where r.status = 'succeeded' and r.created_at < c.created_at and c.created_at < r.finished_at
      and r.wake_id is distinct from c.wake_id
) report
where c.action = 'continue' and report.at is not null;
