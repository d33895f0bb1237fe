-- What a sweep needs that nobody watches: what people are to be told of, and which part of a shared sweep it was.

create table notifications (
    id           uuid primary key,                    -- the key by which a receiver knows it again
    destination  text not null,                       -- slack, webhook; where that is, only the configuration says
    event        text not null check (event in ('escalated', 'guard_stopped', 'quarantined', 'session_stuck', 'recovered')),
    kind         text not null,
    subject_id   uuid,                                -- null: about the kind as a whole
    sweep_id     uuid not null,
    details      jsonb not null,
    created_at   timestamptz not null default clock_timestamp(),
    message_id   uuid,                                -- what is told in one message; null: not tried yet
    attempts     integer not null default 0,
    due_at       timestamptz not null default clock_timestamp(),
    delivered_at timestamptz,
    dead_at      timestamptz,                         -- given up
    last_error   text
);
create index notifications_waiting on notifications (due_at) where delivered_at is null and dead_at is null;
create index notifications_message on notifications (message_id) where delivered_at is null and dead_at is null;
create index notifications_dead on notifications (dead_at) where dead_at is not null;
create index notifications_of_guard on notifications (kind, destination, created_at) where event = 'guard_stopped';

alter table sweeps
    add column shard integer not null default 0,      -- of a sweep that several share: which part, from 0 …
    add column shards integer not null default 1,     -- … of how many
    add column narrowed boolean not null default false; -- its settings let it look at a part only; partial: or its deadline did
