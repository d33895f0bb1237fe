-- What sweep itself remembers, on every host: its sweeps, and one row for each attempt, escalation and recovery.

create table sweeps (
    id             text not null primary key,
    host           text not null,
    version        text not null,
    started_at     text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (started_at like '____-__-__T__:__:__.___Z'),
    finished_at    text check (finished_at like '____-__-__T__:__:__.___Z'),  -- null: running, or killed before it could close
    ended          text check (ended in ('completed', 'interrupted', 'failed')),
    counts         text not null default '{}' check (json_valid(counts)),       -- outcomes by kind, as in the JSON report
    oldest_left_at text check (oldest_left_at like '____-__-__T__:__:__.___Z')  -- since when the oldest subject that was left has been idle
) strict;
create index sweeps_started_at on sweeps (started_at);

create table recoveries (
    id               text not null primary key,
    sweep_id         text not null,                   -- no foreign key: sweeps may be pruned, and every worker would lock that row
    kind             text not null check (kind in ('issue', 'step')),
    subject_id       text not null,
    action           text not null check (action in ('continue', 'escalate', 'recover')),
    reason           text not null,
    episode_began_at text not null check (episode_began_at like '____-__-__T__:__:__.___Z'),
    attempt          integer not null check (attempt >= 0),
    wake_id          text,
    blocked_subject  integer not null default 0 check (blocked_subject in (0, 1)),  -- this escalation set the subject blocked
    created_at       text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z'),
    settled_at       text check (settled_at like '____-__-__T__:__:__.___Z')  -- null: open, that is, the last thing sweep did and nothing has come of it yet
) strict;

-- The bound on attempts holds even if every lock failed: the second writer of the same attempt loses.
create unique index recoveries_once on recoveries (kind, subject_id, episode_began_at, action, attempt) where action <> 'recover';
create unique index recoveries_open on recoveries (kind, subject_id) where settled_at is null;
create index recoveries_history on recoveries (kind, subject_id, created_at);
