-- The control plane that sweep brings when there is no other host: what there is to do, and by whom. Plans are
-- ordered steps that an agent works through, or that a client pulls when the plan has no agent.

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

create table plans (
    id                    uuid primary key default gen_random_uuid(),
    tenant                text not null default 'default',
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

-- What the candidates need: the few rows in progress, in the order of the scan, however many are finished.
create index issues_in_progress on issues (updated_at, id)
    where status = 'in_progress' and assignee_agent_id is not null and assignee_user_id is null;
create index plan_steps_in_progress on plan_steps (coalesce(started_at, updated_at), id) where status = 'in_progress';
create index plans_by_issue on plans (issue_id);
