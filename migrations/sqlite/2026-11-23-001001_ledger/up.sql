-- What sweep itself remembers, on every host: its sweeps, what they did about each subject, what operators said, what failed, and
-- what people are to be notified of.

create table sweeps (
    id             text not null primary key,
    host           text not null,
    version        text not null,
    started_at     text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)),
    finished_at    text check (finished_at is strftime('%Y-%m-%dT%H:%M:%fZ', finished_at)),  -- null: running, or killed before it could close
    ended          text check (ended in ('completed', 'interrupted', 'failed')),
    counts         text not null default '{}' check (json_valid(counts)),  -- outcomes by kind, as in the JSON report
    oldest_left_at text check (oldest_left_at is strftime('%Y-%m-%dT%H:%M:%fZ', oldest_left_at)),  -- since when the oldest subject that was left has been idle
    exit_code      integer,                           -- null: as finished_at
    succeeded      integer not null default 0 check (succeeded in (0, 1)), -- it looked at everything and did all that it had to
    partial        integer not null default 0,        -- it did not look at everything, and says nothing of the schedule
    policy         text not null default '{}' check (json_valid(policy)),  -- the settings that decide
    shard          integer not null default 0,        -- of a sweep that several share: which part, from 0 ...
    shards         integer not null default 1,        -- ... of how many
    narrowed       integer not null default 0 check (narrowed in (0, 1)),  -- its settings let it look at a part only; partial: or its deadline did
    -- A sweep that closes remembers how much the ledger has ever recorded: nobody counts it from the beginning again, and
    -- the count stays when old rows are pruned.
    ledger_until   text check (ledger_until is strftime('%Y-%m-%dT%H:%M:%fZ', ledger_until)),  -- all rows of the ledger before it ...
    ledger_counts  text check (ledger_counts is null or json_valid(ledger_counts)),  -- ... by kind and action
    -- A guard that stands for hours is not decided in every sweep.
    guard_decided_at text check (guard_decided_at is strftime('%Y-%m-%dT%H:%M:%fZ', guard_decided_at)),  -- when the oldest of what it holds back was decided; null: it judged nothing
    guard_held     text check (guard_held is null or json_valid(guard_held))  -- of each kind that it judged; and the settings that it judged by
) strict;
create index sweeps_started_at on sweeps (started_at);
-- What is asked after every sweep must not cost more as sweeps and their ledger grow.
create index sweeps_whole on sweeps (finished_at) where not narrowed and finished_at is not null;
create index sweeps_whole_by_shard on sweeps (shards, shard, finished_at) where not narrowed and finished_at is not null;
create index sweeps_succeeded on sweeps (shards, shard, finished_at)
    where succeeded;
create index sweeps_counted on sweeps (started_at) where ledger_until is not null;

-- The ledger: one row for each attempt, escalation, recovery and handover, and for each report of abandoned work, whatever kinds of subject there are.
create table recoveries (
    id               text not null primary key,
    sweep_id         text not null,                   -- no foreign key: sweeps may be pruned, and every worker would lock that row
    kind             text not null,
    subject_id       text not null,
    action           text not null check (action in ('continue', 'escalate', 'recover', 'hand_over', 'abandon')),
    reason           text not null,
    episode_began_at text not null check (episode_began_at is strftime('%Y-%m-%dT%H:%M:%fZ', episode_began_at)),
    attempt          integer not null check (attempt >= 0),
    wake_id          text,
    blocked_subject  integer not null default 0 check (blocked_subject in (0, 1)),  -- this escalation set the subject blocked
    created_at       text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    settled_at       text check (settled_at is strftime('%Y-%m-%dT%H:%M:%fZ', settled_at))  -- null: open, that is, the last thing sweep did and nothing has come of it yet
) strict;
-- The bound on attempts holds even if every lock failed: the second writer of the same attempt loses.
create unique index recoveries_once on recoveries (kind, subject_id, episode_began_at, action, attempt)
    where action not in ('recover', 'hand_over', 'abandon');
create unique index recoveries_open on recoveries (kind, subject_id) where settled_at is null;
create index recoveries_history on recoveries (kind, subject_id, created_at);
create index recoveries_created_at on recoveries (created_at);

-- What the views of the boards go by: one row, into which each migration and each sweep of everything writes the limits of src/rules/policy.rs,
-- and the statuses, states and texts of src/rules/board.rs. So none of these stands in SQL.
create table policy (
    only_row                     integer not null unique default 1 check (only_row = 1),
    orphan_grace_seconds         real not null check (orphan_grace_seconds between 0 and 1e10),
    step_stalled_after_seconds   real not null check (step_stalled_after_seconds between 0 and 1e10),
    session_silent_after_seconds real not null check (session_silent_after_seconds between 0 and 1e10),
    run_silent_after_seconds     real not null check (run_silent_after_seconds between 0 and 1e10),
    wake_stuck_after_seconds     real not null check (wake_stuck_after_seconds between 0 and 1e10),
    nudge_delay_seconds          real not null check (nudge_delay_seconds between 0 and 1e10),
    clock_ahead_max_seconds      real not null check (clock_ahead_max_seconds between 0 and 1e10),
    attempts_max                 integer not null check (0 <= attempts_max),
    attempts_per_day_max         integer not null check (0 <= attempts_per_day_max),
    vocabulary                   text not null check (json_type(vocabulary) = 'object')
) strict;

-- Each reason for a subject's state: the state, and the reason as people read it.
create view board_texts as
select r.key as reason, r.value ->> 'state' as state, r.value ->> 'text' as text
from policy p join json_each(p.vocabulary, '$.reasons') r;

-- The ledger's open rows. One that a clock that was ahead has dated in the future belongs to the episode that it names: its own time says
-- nothing, and what came after that episode hides nothing.
create view open_recoveries as
select r.id, r.kind, r.subject_id, r.action, r.blocked_subject,
       case when r.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('+%f seconds', coalesce((select clock_ahead_max_seconds from policy), 0)))
            then r.episode_began_at else r.created_at end as since
from recoveries r where r.settled_at is null;

-- The operators' word that work is in progress on purpose.
create table exemptions (
    kind       text not null,
    subject_id text not null,
    reason     text not null,
    until      text check (until is strftime('%Y-%m-%dT%H:%M:%fZ', until)),  -- it holds before this; null: until it is removed
    created_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    primary key (kind, subject_id)
) strict;

-- A row that always fails costs nothing any more.
create table failures (
    kind           text not null,
    subject_id     text not null,
    sweeps         integer not null default 1,        -- in how many sweeps running; 0: no longer
    reason         text not null check (length(reason) <= 1000),  -- of the last failure
    last_at        text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (last_at is strftime('%Y-%m-%dT%H:%M:%fZ', last_at)),
    quarantined_at text check (quarantined_at is strftime('%Y-%m-%dT%H:%M:%fZ', quarantined_at)),  -- null: it is still examined
    primary key (kind, subject_id)
) strict;

-- What people are to be notified of, written in the transaction of what it is about.
create table notifications (
    id           text not null primary key,           -- the key by which a receiver knows it again
    destination  text not null,                       -- slack, webhook; where that is, only the configuration says
    event        text not null check (event in ('escalated', 'guard_stopped', 'quarantined', 'session_stuck', 'recovered', 'host_blocked', 'wakes_stuck', 'abandoned')),
    kind         text not null,
    part         text not null default '',             -- of the kind, that the guard holds back; '': the whole
    subject_id   text,                                -- null: about the kind as a whole
    sweep_id     text not null,
    details      text not null check (json_valid(details)),
    created_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)),
    message_id   text,                                -- what goes out in one message; null: not tried yet
    attempts     integer not null default 0,
    due_at       text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (due_at is strftime('%Y-%m-%dT%H:%M:%fZ', due_at)),
    delivered_at text check (delivered_at is strftime('%Y-%m-%dT%H:%M:%fZ', delivered_at)),
    dead_at      text check (dead_at is strftime('%Y-%m-%dT%H:%M:%fZ', dead_at)),  -- given up
    last_error   text
) strict;
create index notifications_waiting on notifications (due_at) where delivered_at is null and dead_at is null;
create index notifications_message on notifications (message_id) where delivered_at is null and dead_at is null;
create index notifications_dead on notifications (dead_at) where dead_at is not null;
create index notifications_of_guard on notifications (kind, destination, part, created_at) where event = 'guard_stopped';
create index notifications_of_wakes on notifications (destination, part, created_at, id) where event = 'wakes_stuck';
