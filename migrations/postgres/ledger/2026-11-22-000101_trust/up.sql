-- What operators must be able to rely on: work that is in progress on purpose is left, a row that always fails costs
-- nothing any more, and every sweep says with what rules it went and how it ended.

create table exemptions (
    kind       text not null,
    subject_id uuid not null,
    reason     text not null,
    until      timestamptz,                           -- it holds before this; null: until it is removed
    created_at timestamptz not null default clock_timestamp(),
    primary key (kind, subject_id)
);

create table failures (
    kind           text not null,
    subject_id     uuid not null,
    sweeps         integer not null default 1,        -- in how many sweeps running; 0: no longer
    reason         text not null,                     -- of the last failure
    last_at        timestamptz not null default clock_timestamp(),
    quarantined_at timestamptz,                       -- null: it is still examined
    primary key (kind, subject_id)
);

alter table sweeps
    add column exit_code integer,                     -- null: as finished_at
    add column partial boolean not null default false, -- it did not look at everything, and tells nothing of the schedule
    add column policy jsonb not null default '{}';    -- the settings that decide
