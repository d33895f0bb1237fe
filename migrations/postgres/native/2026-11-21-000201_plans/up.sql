-- Plans: ordered steps that an agent works through, or that a client pulls when the plan has no agent.

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

alter table wakes add column plan_step_id uuid references plan_steps;
alter table runs add column plan_step_id uuid references plan_steps;

create index plan_steps_in_progress on plan_steps (coalesce(started_at, updated_at), id) where status = 'in_progress';
create index wakes_by_step on wakes (plan_step_id, created_at);
create index runs_live_by_step on runs (plan_step_id) where status in ('queued', 'scheduled_retry', 'running');
