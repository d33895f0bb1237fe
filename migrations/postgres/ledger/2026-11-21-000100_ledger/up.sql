-- What sweep itself remembers, on every host: its sweeps, and one row for each attempt, escalation and recovery.

create table sweeps (
    id             uuid primary key,
    host           text not null,
    version        text not null,
    started_at     timestamptz not null default clock_timestamp(),
    finished_at    timestamptz,                       -- null: running, or killed before it could close
    ended          text check (ended in ('completed', 'interrupted', 'failed')),
    counts         jsonb not null default '{}',       -- outcomes by kind, as in the JSON report
    oldest_left_at timestamptz                        -- since when the oldest subject that was left has been idle
);
create index sweeps_started_at on sweeps (started_at);

create table recoveries (
    id               uuid primary key,
    sweep_id         uuid not null,                   -- no foreign key: sweeps may be pruned, and every worker would lock that row
    kind             text not null check (kind in ('issue', 'step')),
    subject_id       uuid not null,
    action           text not null check (action in ('continue', 'escalate', 'recover')),
    reason           text not null,
    episode_began_at timestamptz not null,
    attempt          integer not null check (attempt >= 0),
    wake_id          uuid,
    blocked_subject  boolean not null default false,  -- this escalation set the subject blocked
    created_at       timestamptz not null default clock_timestamp(),
    settled_at       timestamptz                      -- null: open, that is, the last thing sweep did and nothing has come of it yet
);

-- The bound on attempts holds even if every lock failed: the second writer of the same attempt loses.
create unique index recoveries_once on recoveries (kind, subject_id, episode_began_at, action, attempt) where action <> 'recover';
create unique index recoveries_open on recoveries (kind, subject_id) where settled_at is null;
create index recoveries_history on recoveries (kind, subject_id, created_at);
