-- The control plane that sweep brings when there is no other host: what there is to do and by whom, and what is being done.
-- SQLite reads a whole text into the memory of whoever asks for a part of it: what a sweep reads of a row is 10,000 bytes at most.

create table agents (
    id         text not null primary key,
    name       text not null,
    status     text not null default 'idle'
               check (status in ('active', 'idle', 'running', 'error', 'paused', 'pending_approval', 'terminated')),
    created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    updated_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)),
    constraint "at most 10,000 bytes of text" check (length(cast(id || name as blob)) <= 10000)
) strict;

create table issues (
    id                text not null primary key,
    tenant            text not null default 'default',
    identifier        text not null unique,
    title             text not null,
    status            text not null default 'todo'
                      check (status in ('backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled')),
    assignee_agent_id text references agents,
    assignee_user_id  text,
    checkout_run_id   text references runs,           -- the run that holds the issue
    waiting_for       text,                           -- a declared wait: approval, question, blocker, ...
    wait_until        text check (wait_until is strftime('%Y-%m-%dT%H:%M:%fZ', wait_until)),  -- when that wait ends; null with waiting_for: until it is cleared
    unblock_action    text,                           -- while it is blocked: what a person has to do
    started_at        text check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)),
    created_at        text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    updated_at        text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)),
    constraint "at most 10,000 bytes of text" check (length(cast(id || tenant || identifier || title || coalesce(assignee_agent_id, '') || coalesce(assignee_user_id, '') || coalesce(checkout_run_id, '') || coalesce(waiting_for, '') as blob)) <= 10000)
) strict;

-- Plans are ordered steps that an agent works through, or that a client pulls when the plan has no agent.
create table plans (
    id                    text not null primary key,
    tenant                text not null default 'default',
    title                 text not null,
    status                text not null default 'draft'
                          check (status in ('draft', 'executing', 'stalled', 'completed', 'failed', 'cancelled')),
    agent_id              text references agents,     -- null: its client pulls, nobody can be woken
    issue_id              text references issues,     -- where an escalation is written
    stalled_after_seconds integer check (stalled_after_seconds > 0),
    created_at            text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    updated_at            text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)),
    constraint "at most 10,000 bytes of text" check (length(cast(id || tenant || title || coalesce(agent_id, '') || coalesce(issue_id, '') as blob)) <= 10000)
) strict;

create table plan_steps (
    id                    text not null primary key,
    plan_id               text not null references plans on delete cascade,
    position              integer not null,
    title                 text not null,
    status                text not null default 'pending'
                          check (status in ('pending', 'in_progress', 'completed', 'skipped', 'failed')),
    stalled_after_seconds integer check (stalled_after_seconds > 0),
    started_at            text check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)),
    updated_at            text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)),
    unique (plan_id, position),
    constraint "at most 10,000 bytes of text" check (length(cast(id || plan_id || title as blob)) <= 10000)
) strict;

-- Wakes ask that an agent resume work, runs are the work.
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
    created_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    updated_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)),
    constraint "at most 10,000 bytes of text" check (length(cast(id || agent_id || coalesce(issue_id, '') || coalesce(plan_step_id, '') || reason || requested_by as blob)) <= 10000)
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
    created_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    finished_at  text check (finished_at is strftime('%Y-%m-%dT%H:%M:%fZ', finished_at)),
    constraint "at most 10,000 bytes of text" check (length(cast(id || agent_id || coalesce(issue_id, '') || coalesce(plan_step_id, '') || coalesce(wake_id, '') || coalesce(retry_reason, '') as blob)) <= 10000)
) strict;

-- A session is a process in which an agent works, and its supervisor keeps this row current: `sweep watch`, or a host's own.
-- Whoever finds it stuck writes a command, and the supervisor delivers it.
create table sessions (
    id                   text not null primary key,
    tenant               text not null default 'default',
    identifier           text unique,                 -- what people call it
    title                text not null default '',    -- what runs in it
    agent_id             text references agents,      -- null: whoever started it
    issue_id             text references issues,      -- what it works on, and where an escalation is written
    status               text not null default 'created'
                         check (status in ('created', 'active', 'paused', 'terminated', 'interrupted')),
    stall_paused         integer not null default 0 check (stall_paused in (0, 1)),  -- nobody may disturb it
    started_at           text check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)),    -- of its present process
    last_activity_at     text check (last_activity_at is strftime('%Y-%m-%dT%H:%M:%fZ', last_activity_at)),  -- any sign of life; null: as started_at
    last_progress_at     text check (last_progress_at is strftime('%Y-%m-%dT%H:%M:%fZ', last_progress_at)),  -- a step forward, no repetition; null: as started_at
    last_tool            text,
    recent_output        text not null default '',    -- the last lines of its screen
    exit_code            integer,                     -- null: it runs, or was ended by a signal
    ended_at             text check (ended_at is strftime('%Y-%m-%dT%H:%M:%fZ', ended_at)),      -- null: its process runs
    silent_after_seconds integer check (silent_after_seconds > 0),
    takes_nudges         integer not null default 1 check (takes_nudges in (0, 1)), -- may something be typed into it now?
    agent_state          text check (agent_state in ('working', 'idle', 'waiting', 'exhausted')), -- null: unknown
    agent_state_kind     text,                        -- what it waits for: permission, trust, login, ...; or has run out of
    agent_state_since    text check (agent_state_since is strftime('%Y-%m-%dT%H:%M:%fZ', agent_state_since)),
    agent_question       text,                        -- the words with which it asks a person
    agent_state_evidence text,                        -- how that is known
    resumes_at           text check (resumes_at is strftime('%Y-%m-%dT%H:%M:%fZ', resumes_at)), -- when its quota is filled again
    created_at           text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    updated_at           text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)),
    constraint "at most 10,000 bytes of text" check (length(cast(id || tenant || title || coalesce(identifier, '') || coalesce(agent_id, '') || coalesce(issue_id, '') || coalesce(last_tool, '') || coalesce(agent_state_kind, '') || coalesce(agent_question, '') || coalesce(agent_state_evidence, '') as blob)) <= 10000),
    constraint "at most 1,000,000 bytes of output" check (length(cast(recent_output as blob)) <= 1000000)
) strict;

create table session_commands (
    id           text not null primary key,
    session_id   text not null references sessions on delete cascade,
    command      text not null check (command in ('nudge', 'relaunch')),
    message      text,                                -- what a nudge types
    status       text not null default 'queued' check (status in ('queued', 'delivered', 'failed')),
    requested_by text not null,
    created_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    updated_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)),
    constraint "at most 10,000 bytes of text" check (length(cast(id || session_id || coalesce(message, '') || requested_by as blob)) <= 10000)
) strict;

-- What people read.
create table comments (
    id         text not null primary key,
    issue_id   text not null references issues,
    author     text not null,
    body       text not null,
    created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at))
) strict;

create table activity (
    id          integer primary key,
    actor       text not null,
    action      text not null,
    entity_type text not null,
    entity_id   text not null,
    details     text not null default '{}' check (json_valid(details)),
    created_at  text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at))
) strict;

-- What the candidates need: the few rows in progress and in flight, in the order of the scan, however many are finished.
create index issues_in_progress on issues (updated_at, id, assignee_agent_id, tenant)
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
select 0.5 as run_end_grace_seconds,                  -- after the end of a run its host has so long to say what follows
       'set it to in progress or todo' as resume_advice;  -- how a person has its agent go on with a blocked issue

-- The host's own activity log shows what the ledger holds.
create trigger log_recovery after insert on recoveries begin
    insert into activity (actor, action, entity_type, entity_id, details)
    values ('sweep', new.kind || '.' || new.action, new.kind, new.subject_id,
            json_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id));
end;

-- A continuation was in vain if a run that had begun before its wake, and was not started by it, reported afterwards: its
-- owner was alive. Only success is a report: a run is also failed, timed out, interrupted or cancelled by others.
create view false_rescues as
select recovery_id, subject_id, kind, continued_at, reported_at
from (
    select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, (
        select min(r.finished_at)
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
          and r.wake_id is not c.wake_id
    ) as reported_at
    from recoveries c where c.action = 'continue'
)
where reported_at is not null;
