-- What a sweep needs that nobody watches: what people are to be told of, and which part of a shared sweep it was.

create table notifications (
    id           text not null primary key,           -- the key by which a receiver knows it again
    destination  text not null,                       -- slack, webhook; where that is, only the configuration says
    event        text not null check (event in ('escalated', 'guard_stopped', 'quarantined', 'session_stuck', 'recovered')),
    kind         text not null,
    subject_id   text,                                -- null: about the kind as a whole
    sweep_id     text not null,
    details      text not null check (json_valid(details)),
    created_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z'),
    message_id   text,                                -- what is told in one message; null: not tried yet
    attempts     integer not null default 0,
    due_at       text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (due_at like '____-__-__T__:__:__.___Z'),
    delivered_at text check (delivered_at like '____-__-__T__:__:__.___Z'),
    dead_at      text check (dead_at like '____-__-__T__:__:__.___Z'),  -- given up
    last_error   text
) strict;
create index notifications_waiting on notifications (due_at) where delivered_at is null and dead_at is null;
create index notifications_message on notifications (message_id) where delivered_at is null and dead_at is null;
create index notifications_dead on notifications (dead_at) where dead_at is not null;
create index notifications_of_guard on notifications (kind, destination, created_at) where event = 'guard_stopped';

alter table sweeps add column shard integer not null default 0;   -- of a sweep that several share: which part, from 0 …
alter table sweeps add column shards integer not null default 1;  -- … of how many
alter table sweeps add column narrowed integer not null default 0 check (narrowed in (0, 1));  -- its settings let it look at a part only; partial: or its deadline did
