-- What operators must be able to rely on: work that is in progress on purpose is left, a row that always fails costs
-- nothing any more, and every sweep says with what rules it went and how it ended.

create table exemptions (
    kind       text not null,
    subject_id text not null,
    reason     text not null,
    until      text check (until like '____-__-__T__:__:__.___Z'), -- it holds before this; null: until it is removed
    created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z'),
    primary key (kind, subject_id)
) strict;

create table failures (
    kind           text not null,
    subject_id     text not null,
    sweeps         integer not null default 1,        -- in how many sweeps running; 0: no longer
    reason         text not null,                     -- of the last failure
    last_at        text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (last_at like '____-__-__T__:__:__.___Z'),
    quarantined_at text check (quarantined_at like '____-__-__T__:__:__.___Z'), -- null: it is still examined
    primary key (kind, subject_id)
) strict;

alter table sweeps add column exit_code integer;      -- null: as finished_at
alter table sweeps add column partial integer not null default 0; -- it did not look at everything, and tells nothing of the schedule
alter table sweeps add column policy text not null default '{}' check (json_valid(policy)); -- the settings that decide
