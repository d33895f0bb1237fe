-- The ledger takes whatever kinds of subject there are: a new one is no change of its tables. SQLite changes no check: the
-- table is made anew.

create table kept as select * from recoveries;
drop table recoveries;

create table recoveries (
    id               text not null primary key,
    sweep_id         text not null,                   -- no foreign key: sweeps may be pruned, and every worker would lock that row
    kind             text not null,
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

insert into recoveries select * from kept;
drop table kept;

-- The host's own activity log shows what the ledger holds.
create trigger log_recovery after insert on recoveries begin
    insert into activity (actor, action, entity_type, entity_id, details)
    values ('sweep', new.kind || '.' || new.action, new.kind, new.subject_id,
            json_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id));
end;
