-- sweep's own tables, on every host: its sweeps, what they did about each subject, what operators said, what failed, and the
-- notifications for people. Each text has a bound, since a sweep reads all of them.

-- The host of this database, and which database it is. Only `sweep migrate` writes the row. decisions.md#a-recorded-host
create table {{ own }}host (
    {{ flag("only_row") }} primary key default true check (only_row),
    {{ database_id }}{{ short_text("name", 100) }} not null,
    {{ short_json("files", 1000000) }},  -- the text of each file of the host's folder; null: the host is built in
    {{ short_json("made", 1000000) }} not null  -- what stood after the migration, each with its definition
){{ strict }};

create table {{ own }}sweeps (
    id {{ uuid }} primary key,
    {{ short_text("host", 100) }} not null,
    {{ short_text("version", 100) }} not null,
    {{ calendar_time("started_at") }} not null default {{ now }},
    {{ calendar_time("finished_at") }},  -- null: running, or killed before it could close
    ended          text check (ended in ('completed', 'interrupted', 'failed')),
    {{ short_json("counts", 200000) }} not null default '{}',  -- outcomes by kind, as in the JSON report
    {{ calendar_time("oldest_left_at") }},  -- since when the oldest subject that was left has been idle
    exit_code      integer,  -- null: the sweep has not finished
    {{ flag("succeeded") }} not null default false,  -- the sweep examined everything and did all that it had to
    {{ flag("partial") }} not null default false,  -- the sweep did not examine everything: decisions.md#partial-sweeps
    {{ short_json("policy", 100000) }} not null default '{}',  -- the settings by which the sweep decided
    shard          integer not null default 0,  -- which part of a sweep that several share, from 0 ...
    shards         integer not null default 1,  -- ... of how many
    {{ flag("is_restricted") }} not null default false,  -- its settings bound it to a part of the work; `partial` counts its deadline as well
    {{ flag("idle") }} not null default false  -- it found nothing to do
){{ strict }};
create index {{ own }}sweeps_started_at on {{ own }}sweeps (started_at);
-- The questions of every sweep must not cost more as sweeps and their ledger grow.
create index {{ own }}sweeps_whole on {{ own }}sweeps (finished_at) where not is_restricted and finished_at is not null;
create index {{ own }}sweeps_whole_by_shard on {{ own }}sweeps (shards, shard, finished_at) where not is_restricted and finished_at is not null;
create index {{ own }}sweeps_succeeded on {{ own }}sweeps (shards, shard, finished_at)
    where succeeded;

-- The ledger: one row for each attempt, escalation, recovery, handover and report of abandoned work, of all kinds of subject.
create table {{ own }}recoveries (
    id {{ uuid }} primary key,
    sweep_id {{ uuid }} not null,  -- no foreign key: sweeps may be pruned, and every worker would lock that row
    {{ short_text("kind", 100) }} not null,
    {{ short_id("subject_id") }} not null,
    action           text not null check (action in ('continue', 'escalate', 'recover', 'hand_over', 'abandon')),
    {{ short_text("reason", 10000) }} not null,
    {{ calendar_time("episode_began_at") }} not null,
    attempt          integer not null check (attempt >= 0),
    wake_id {{ uuid }},
    {{ short_id("agent_id") }},  -- the subject's agent at that time; with its tenant, the exemptions that apply
    {{ short_text("tenant", 1000) }},
    {{ short_text("requested_by", 200) }},  -- the person who asked for it by a command; null: a sweep did it
    {{ flag("blocked_subject") }} not null default false,  -- this escalation set the subject blocked
    {{ flag("lost_agent") }} not null default false,  -- people were told that the subject's agent is gone or terminated
    {{ calendar_time("created_at") }} not null default {{ now }},
    {{ calendar_time("settled_at") }}  -- null: open, the last thing that sweep did, of which nothing has come yet
){{ strict }};
-- The bound on attempts holds even if every lock failed: the second writer of the same attempt loses.
create unique index {{ own }}recoveries_once on {{ own }}recoveries (kind, subject_id, episode_began_at, action, attempt)
    where action not in ('recover', 'hand_over', 'abandon');
create unique index {{ own }}recoveries_open on {{ own }}recoveries (kind, subject_id) where settled_at is null;
create index {{ own }}recoveries_history on {{ own }}recoveries (kind, subject_id, created_at);
create index {{ own }}recoveries_by_wake on {{ own }}recoveries (kind, subject_id, wake_id) where wake_id is not null;
create index {{ own }}recoveries_blocking on {{ own }}recoveries (kind, created_at, subject_id) where settled_at is null and blocked_subject;
create index {{ own }}recoveries_by_tenant on {{ own }}recoveries (kind, tenant, created_at) where action not in ('recover', 'hand_over');
create index {{ own }}recoveries_created_at on {{ own }}recoveries (created_at);

-- What the ledger has recorded, summed by day: decisions.md#the-ledger-is-summed-once
create table {{ own }}ledger_days (
    {{ short_text("day", 10) }} not null,  -- of UTC, such as 2026-11-24
    {{ short_text("kind", 100) }} not null,
    {{ short_text("action", 100) }} not null,
    recorded {{ big_integer }} not null,  -- how many rows
    requested {{ big_integer }} not null,  -- how many of them a person asked for
    in_vain {{ big_integer }} not null,  -- how many of these continuations were false rescues
    primary key (day, kind, action)
){{ strict }};

-- How far each part of the upkeep of these tables has come, which sweeps do at their end.
create table {{ own }}upkeep (
    {{ short_text("task", 100) }} not null primary key,
    {{ calendar_time("until") }} not null,  -- it is done for all rows up to this time
    {{ calendar_time("began_at") }} not null default {{ now }},  -- when it began anew with the oldest row, of which more may be over now
    {{ calendar_time("due_at") }} not null  -- when there may be something to do again
){{ strict }};
-- An hour after the tables were made a row may be old enough.
insert into {{ own }}upkeep (task, until, due_at)
values {% for task in ["sum_rows", "sum_early_reports", "sum_late_reports", "remove_recoveries", "remove_sweeps", "remove_notifications"] %}
    ('{{ task }}', '1970-01-01T00:00:00.000Z', {{ after(at_statement, 3600) }}){{ ";" if loop.last else "," }}{% endfor %}

-- The policy that the views of the boards read: one row, into which each migration and each sweep of everything writes the limits of
-- src/rules/policy.rs, and the statuses, states and texts of src/rules/board.rs. So none of these stands in SQL.
create table {{ own }}policy (
    {{ flag("only_row") }} primary key default true check (only_row),
    orphan_grace_seconds {{ number }} not null check (orphan_grace_seconds between 0 and 1e10),
    step_stalled_after_seconds {{ number }} not null check (step_stalled_after_seconds between 0 and 1e10),
    session_silent_after_seconds {{ number }} not null check (session_silent_after_seconds between 0 and 1e10),
    run_silent_after_seconds {{ number }} not null check (run_silent_after_seconds between 0 and 1e10),
    wake_stuck_after_seconds {{ number }} not null check (wake_stuck_after_seconds between 0 and 1e10),
    nudge_delay_seconds {{ number }} not null check (nudge_delay_seconds between 0 and 1e10),
    clock_ahead_max_seconds {{ number }} not null check (clock_ahead_max_seconds between 0 and 1e10),
    attempts_max {{ big_integer }} not null check (0 <= attempts_max),
    attempts_per_day_max {{ big_integer }} not null check (0 <= attempts_per_day_max),
    {{ short_json("vocabulary", 100000) }} not null check ({{ type_of }}(vocabulary) = 'object')
){{ strict }};

-- Operators declare here that work is in progress on purpose: one subject, or all work of an agent; of a tenant in the table below.
create table {{ own }}exemptions (
    {{ short_text("kind", 100) }} not null,  -- the kind of the subject, or agent
    {{ short_id("subject_id") }} not null,
    {{ short_text("reason", 2000) }} not null,
    {{ calendar_time("until") }},  -- when the exemption ends; null: when it is removed
    {{ calendar_time("created_at") }} not null default {{ now }},
    primary key (kind, subject_id)
){{ strict }};

create table {{ own }}tenant_exemptions (
    {{ short_text("tenant", 1000) }} not null primary key,
    {{ short_text("reason", 2000) }} not null,
    {{ calendar_time("until") }},
    {{ calendar_time("created_at") }} not null default {{ now }}
){{ strict }};

-- Failures of subjects. A subject that keeps failing is quarantined, and costs nothing any more.
create table {{ own }}failures (
    {{ short_text("kind", 100) }} not null,
    {{ short_id("subject_id") }} not null,
    sweeps         integer not null default 1,  -- how many sweeps in a row it failed; 0: the last one succeeded
    {{ short_text("reason", 1000) }} not null,  -- why it failed last
    {{ calendar_time("last_at") }} not null default {{ now }},
    {{ calendar_time("quarantined_at") }},  -- null: the subject is still examined
    primary key (kind, subject_id)
){{ strict }};

-- Notifications for people, each written in the transaction of the event that it reports.
create table {{ own }}notifications (
    id {{ uuid }} primary key,  -- the key by which a receiver knows it again
    {{ short_text("destination", 100) }} not null,  -- slack, teams, email, pagerduty or webhook; only the configuration has the address
    event        text not null check (event in ('escalated', 'guard_stopped', 'quarantined', 'session_stuck', 'recovered', 'host_blocked', 'unstarted', 'wakes_stuck', 'run_unheard', 'abandoned')),
    {{ short_text("kind", 100) }} not null,
    {{ short_text("part", 3000) }} not null default '',  -- the part of the kind that the guard holds back; '': the whole kind
    {{ short_id("subject_id") }},  -- null: the notification is about the whole kind
    sweep_id {{ uuid }} not null,
    {{ short_json("details", 100000) }} not null,
    {{ calendar_time("created_at") }} not null default {{ now }},
    message_id {{ uuid }},  -- the message in which it is sent; null: it was not tried yet
    attempts     integer not null default 0,
    {{ calendar_time("due_at") }} not null default {{ now }},
    {{ calendar_time("delivered_at") }},
    {{ calendar_time("dead_at") }},  -- when its delivery was given up
    {{ short_text("last_error", 10000) }}
){{ strict }};
create index {{ own }}notifications_created_at on {{ own }}notifications (created_at);
create index {{ own }}notifications_waiting on {{ own }}notifications (due_at) where delivered_at is null and dead_at is null;
create index {{ own }}notifications_message on {{ own }}notifications (message_id) where delivered_at is null and dead_at is null;
create index {{ own }}notifications_of_incident on {{ own }}notifications (destination, kind, part, subject_id, created_at);
create index {{ own }}notifications_dead on {{ own }}notifications (dead_at) where dead_at is not null;
create index {{ own }}notifications_of_guard on {{ own }}notifications (kind, destination, part, created_at) where event = 'guard_stopped';
create index {{ own }}notifications_of_wakes on {{ own }}notifications (destination, part, created_at, id) where event = 'wakes_stuck';
