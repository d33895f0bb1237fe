-- ledger/2026-11-24-001001_ledger
-- sweep's own tables, on every host: its sweeps, what they did about each subject, what operators said, what failed, and the
-- notifications for people. Each text has a bound, since a sweep reads all of them.

-- The host of this database, and which database it is. Only `sweep migrate` writes the row. decisions.md#a-recorded-host
create table host (
    only_row int check (only_row in (false, true)) primary key default true check (only_row),
    name text check (length(name) <= 100 and length(cast(name as blob)) <= 400) not null,
    files text check (files is null or json_valid(files) and length(files) <= 1000000 and length(cast(files as blob)) <= 4000000),  -- the text of each file of the host's folder; null: the host is built in
    made text check (made is null or json_valid(made) and length(made) <= 1000000 and length(cast(made as blob)) <= 4000000) not null  -- what stood after the migration, each with its definition
) strict;

create table sweeps (
    id text primary key,
    host text check (length(host) <= 100 and length(cast(host as blob)) <= 400) not null,
    version text check (length(version) <= 100 and length(cast(version as blob)) <= 400) not null,
    started_at text check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    finished_at text check (finished_at is strftime('%Y-%m-%dT%H:%M:%fZ', finished_at)),  -- null: running, or killed before it could close
    ended          text check (ended in ('completed', 'interrupted', 'failed')),
    counts text check (counts is null or json_valid(counts) and length(counts) <= 200000 and length(cast(counts as blob)) <= 800000) not null default '{}',  -- outcomes by kind, as in the JSON report
    oldest_left_at text check (oldest_left_at is strftime('%Y-%m-%dT%H:%M:%fZ', oldest_left_at)),  -- since when the oldest subject that was left has been idle
    exit_code      integer,  -- null: the sweep has not finished
    succeeded int check (succeeded in (false, true)) not null default false,  -- the sweep examined everything and did all that it had to
    partial int check (partial in (false, true)) not null default false,  -- the sweep did not examine everything: decisions.md#partial-sweeps
    policy text check (policy is null or json_valid(policy) and length(policy) <= 100000 and length(cast(policy as blob)) <= 400000) not null default '{}',  -- the settings by which the sweep decided
    shard          integer not null default 0,  -- which part of a sweep that several share, from 0 ...
    shards         integer not null default 1,  -- ... of how many
    is_restricted int check (is_restricted in (false, true)) not null default false,  -- its settings bound it to a part of the work; `partial` counts its deadline as well
    idle int check (idle in (false, true)) not null default false  -- it found nothing to do
) strict;
create index sweeps_started_at on sweeps (started_at);
-- The questions of every sweep must not cost more as sweeps and their ledger grow.
create index sweeps_whole on sweeps (finished_at) where not is_restricted and finished_at is not null;
create index sweeps_whole_by_shard on sweeps (shards, shard, finished_at) where not is_restricted and finished_at is not null;
create index sweeps_succeeded on sweeps (shards, shard, finished_at)
    where succeeded;

-- The ledger: one row for each attempt, escalation, recovery, handover and report of abandoned work, of all kinds of subject.
create table recoveries (
    id text primary key,
    sweep_id text not null,  -- no foreign key: sweeps may be pruned, and every worker would lock that row
    kind text check (length(kind) <= 100 and length(cast(kind as blob)) <= 400) not null,
    subject_id text check (length(subject_id) <= 1000 and length(cast(subject_id as blob)) <= 4000) not null,
    action           text not null check (action in ('continue', 'escalate', 'recover', 'hand_over', 'abandon')),
    reason text check (length(reason) <= 10000 and length(cast(reason as blob)) <= 40000) not null,
    episode_began_at text check (episode_began_at is strftime('%Y-%m-%dT%H:%M:%fZ', episode_began_at)) not null,
    attempt          integer not null check (attempt >= 0),
    wake_id text,
    agent_id text check (length(agent_id) <= 1000 and length(cast(agent_id as blob)) <= 4000),  -- the subject's agent at that time; with its tenant, the exemptions that apply
    tenant text check (length(tenant) <= 1000 and length(cast(tenant as blob)) <= 4000),
    requested_by text check (length(requested_by) <= 200 and length(cast(requested_by as blob)) <= 800),  -- the person who asked for it by a command; null: a sweep did it
    blocked_subject int check (blocked_subject in (false, true)) not null default false,  -- this escalation set the subject blocked
    lost_agent int check (lost_agent in (false, true)) not null default false,  -- people were told that the subject's agent is gone or terminated
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    settled_at text check (settled_at is strftime('%Y-%m-%dT%H:%M:%fZ', settled_at))  -- null: open, the last thing that sweep did, of which nothing has come yet
) strict;
-- The bound on attempts holds even if every lock failed: the second writer of the same attempt loses.
create unique index recoveries_once on recoveries (kind, subject_id, episode_began_at, action, attempt)
    where action not in ('recover', 'hand_over', 'abandon');
create unique index recoveries_open on recoveries (kind, subject_id) where settled_at is null;
create index recoveries_history on recoveries (kind, subject_id, created_at);
create index recoveries_by_wake on recoveries (kind, subject_id, wake_id) where wake_id is not null;
create index recoveries_blocking on recoveries (kind, created_at, subject_id) where settled_at is null and blocked_subject;
create index recoveries_by_tenant on recoveries (kind, tenant, created_at) where action not in ('recover', 'hand_over');
create index recoveries_created_at on recoveries (created_at);

-- What the ledger has recorded, summed by day: decisions.md#the-ledger-is-summed-once
create table ledger_days (
    day text check (length(day) <= 10 and length(cast(day as blob)) <= 40) not null,  -- of UTC, such as 2026-11-24
    kind text check (length(kind) <= 100 and length(cast(kind as blob)) <= 400) not null,
    action text check (length(action) <= 100 and length(cast(action as blob)) <= 400) not null,
    recorded integer not null,  -- how many rows
    requested integer not null,  -- how many of them a person asked for
    in_vain integer not null,  -- how many of these continuations were false rescues
    primary key (day, kind, action)
) strict;

-- How far each part of the upkeep of these tables has come, which sweeps do at their end.
create table upkeep (
    task text check (length(task) <= 100 and length(cast(task as blob)) <= 400) not null primary key,
    until text check (until is strftime('%Y-%m-%dT%H:%M:%fZ', until)) not null,  -- it is done for all rows up to this time
    began_at text check (began_at is strftime('%Y-%m-%dT%H:%M:%fZ', began_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),  -- when it began anew with the oldest row, of which more may be over now
    due_at text check (due_at is strftime('%Y-%m-%dT%H:%M:%fZ', due_at)) not null  -- when there may be something to do again
) strict;
-- An hour after the tables were made a row may be old enough.
insert into upkeep (task, until, due_at)
values 
    ('sum_rows', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('sum_early_reports', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('sum_late_reports', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('remove_recoveries', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('remove_sweeps', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('remove_notifications', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600)));

-- The policy that the views of the boards read: one row, into which each migration and each sweep of everything writes the limits of
-- src/rules/policy.rs, and the statuses, states and texts of src/rules/board.rs. So none of these stands in SQL.
create table policy (
    only_row int check (only_row in (false, true)) primary key default true check (only_row),
    orphan_grace_seconds real not null check (orphan_grace_seconds between 0 and 1e10),
    step_stalled_after_seconds real not null check (step_stalled_after_seconds between 0 and 1e10),
    session_silent_after_seconds real not null check (session_silent_after_seconds between 0 and 1e10),
    run_silent_after_seconds real not null check (run_silent_after_seconds between 0 and 1e10),
    wake_stuck_after_seconds real not null check (wake_stuck_after_seconds between 0 and 1e10),
    nudge_delay_seconds real not null check (nudge_delay_seconds between 0 and 1e10),
    clock_ahead_max_seconds real not null check (clock_ahead_max_seconds between 0 and 1e10),
    attempts_max integer not null check (0 <= attempts_max),
    attempts_per_day_max integer not null check (0 <= attempts_per_day_max),
    vocabulary text check (vocabulary is null or json_valid(vocabulary) and length(vocabulary) <= 100000 and length(cast(vocabulary as blob)) <= 400000) not null check (json_type(vocabulary) = 'object')
) strict;

-- Operators declare here that work is in progress on purpose: one subject, or all work of an agent; of a tenant in the table below.
create table exemptions (
    kind text check (length(kind) <= 100 and length(cast(kind as blob)) <= 400) not null,  -- the kind of the subject, or agent
    subject_id text check (length(subject_id) <= 1000 and length(cast(subject_id as blob)) <= 4000) not null,
    reason text check (length(reason) <= 2000 and length(cast(reason as blob)) <= 8000) not null,
    until text check (until is strftime('%Y-%m-%dT%H:%M:%fZ', until)),  -- when the exemption ends; null: when it is removed
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    primary key (kind, subject_id)
) strict;

create table tenant_exemptions (
    tenant text check (length(tenant) <= 1000 and length(cast(tenant as blob)) <= 4000) not null primary key,
    reason text check (length(reason) <= 2000 and length(cast(reason as blob)) <= 8000) not null,
    until text check (until is strftime('%Y-%m-%dT%H:%M:%fZ', until)),
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) strict;

-- Failures of subjects. A subject that keeps failing is quarantined, and costs nothing any more.
create table failures (
    kind text check (length(kind) <= 100 and length(cast(kind as blob)) <= 400) not null,
    subject_id text check (length(subject_id) <= 1000 and length(cast(subject_id as blob)) <= 4000) not null,
    sweeps         integer not null default 1,  -- how many sweeps in a row it failed; 0: the last one succeeded
    reason text check (length(reason) <= 1000 and length(cast(reason as blob)) <= 4000) not null,  -- why it failed last
    last_at text check (last_at is strftime('%Y-%m-%dT%H:%M:%fZ', last_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    quarantined_at text check (quarantined_at is strftime('%Y-%m-%dT%H:%M:%fZ', quarantined_at)),  -- null: the subject is still examined
    primary key (kind, subject_id)
) strict;

-- Notifications for people, each written in the transaction of the event that it reports.
create table notifications (
    id text primary key,  -- the key by which a receiver knows it again
    destination text check (length(destination) <= 100 and length(cast(destination as blob)) <= 400) not null,  -- slack, teams, email, pagerduty or webhook; only the configuration has the address
    event        text not null check (event in ('escalated', 'guard_stopped', 'quarantined', 'session_stuck', 'recovered', 'host_blocked', 'unstarted', 'wakes_stuck', 'run_unheard', 'abandoned')),
    kind text check (length(kind) <= 100 and length(cast(kind as blob)) <= 400) not null,
    part text check (length(part) <= 3000 and length(cast(part as blob)) <= 12000) not null default '',  -- the part of the kind that the guard holds back; '': the whole kind
    subject_id text check (length(subject_id) <= 1000 and length(cast(subject_id as blob)) <= 4000),  -- null: the notification is about the whole kind
    sweep_id text not null,
    details text check (details is null or json_valid(details) and length(details) <= 100000 and length(cast(details as blob)) <= 400000) not null,
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    message_id text,  -- the message in which it is sent; null: it was not tried yet
    attempts     integer not null default 0,
    due_at text check (due_at is strftime('%Y-%m-%dT%H:%M:%fZ', due_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    delivered_at text check (delivered_at is strftime('%Y-%m-%dT%H:%M:%fZ', delivered_at)),
    dead_at text check (dead_at is strftime('%Y-%m-%dT%H:%M:%fZ', dead_at)),  -- when its delivery was given up
    last_error text check (length(last_error) <= 10000 and length(cast(last_error as blob)) <= 40000)
) strict;
create index notifications_created_at on notifications (created_at);
create index notifications_waiting on notifications (due_at) where delivered_at is null and dead_at is null;
create index notifications_message on notifications (message_id) where delivered_at is null and dead_at is null;
create index notifications_of_incident on notifications (destination, kind, part, subject_id, created_at);
create index notifications_dead on notifications (dead_at) where dead_at is not null;
create index notifications_of_guard on notifications (kind, destination, part, created_at) where event = 'guard_stopped';
create index notifications_of_wakes on notifications (destination, part, created_at, id) where event = 'wakes_stuck';

-- ledger_views/2026-11-24-001002_ledger_views
-- Views of the ledger for other views.

-- The reasons for a subject's state: the state that each means, and its text for people.
create view board_texts as
select r.key as reason, json_extract(r.value, '$.state') as state, json_extract(r.value, '$.text') as text
from policy p cross join json_each(p.vocabulary, '$.reasons') r;

-- The ledger's open rows. A row in the future is the mistake of a clock: `since` is then the beginning of the episode that it names.
-- decisions.md#times-in-the-future
create view open_recoveries as
select r.id, r.kind, r.subject_id, r.action, r.blocked_subject,
       case when r.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', coalesce((select clock_ahead_max_seconds from policy), 0)))
            then r.episode_began_at else r.created_at end as since
from recoveries r where r.settled_at is null;

-- What sweeps did, without what became of it. In the turns of a scan the tenant comes first for which nothing was done for the longest time.
create view interventions as
select kind, subject_id, tenant, created_at, settled_at from recoveries where action not in ('recover', 'hand_over');

-- The exemptions of agents.
create view agent_exemptions as
select subject_id as agent_id, reason, until from exemptions where kind = 'agent';

-- hosts/native/both/2026-11-24-001101_work
-- The control plane that sweep brings when there is no other host: the work, its agents, and the runs of the work.
-- On PostgreSQL identifiers are bounded, and descriptions may have any length, since the views cut them. SQLite reads a whole text into
-- memory to cut it, so there the texts of a row that sweeps read have 10,000 bytes at most. decisions.md#bounds-on-rows

create table agents (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    name text not null,
    status text not null default 'idle'
        check (status in ('active', 'idle', 'running', 'error', 'paused', 'pending_approval', 'terminated')),
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at text check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    , constraint "at most 10,000 bytes of text" check (length(cast(coalesce(id, '') || coalesce(name, '') as blob)) <= 10000)
) strict;

create table issues (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    tenant text check (length(tenant) <= 200 and length(cast(tenant as blob)) <= 800) not null default 'default',
    identifier text check (length(identifier) <= 200 and length(cast(identifier as blob)) <= 800),  -- what people call it; unique in its tenant
    title text not null,
    status text not null default 'todo'
        check (status in ('backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled')),
    assignee_agent_id text check (length(assignee_agent_id) <= 100 and length(cast(assignee_agent_id as blob)) <= 400) references agents,
    assignee_user_id text,
    checkout_run_id text check (length(checkout_run_id) <= 100 and length(cast(checkout_run_id as blob)) <= 400) references runs,  -- the run that holds the issue
    waiting_for text,  -- a declared wait: approval, question, blocker, ...
    wait_until text check (wait_until is strftime('%Y-%m-%dT%H:%M:%fZ', wait_until)),  -- when the wait ends; null with waiting_for: until it is cleared
    unblock_action text,  -- what a person has to do while the issue is blocked
    started_at text check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)),
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at text check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    unique (identifier, tenant)
    , constraint "at most 10,000 bytes of text" check (length(cast(coalesce(id, '') || coalesce(tenant, '') || coalesce(identifier, '') || coalesce(title, '') || coalesce(assignee_agent_id, '') || coalesce(assignee_user_id, '') || coalesce(checkout_run_id, '') || coalesce(waiting_for, '') as blob)) <= 10000)
) strict;

-- Plans are ordered steps that an agent works through, or that a client pulls when the plan has no agent.
create table plans (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    tenant text check (length(tenant) <= 200 and length(cast(tenant as blob)) <= 800) not null default 'default',
    title text not null,
    status text not null default 'draft'
        check (status in ('draft', 'executing', 'stalled', 'completed', 'failed', 'cancelled')),
    agent_id text check (length(agent_id) <= 100 and length(cast(agent_id as blob)) <= 400) references agents,  -- null: a client pulls the steps, and nobody can be woken
    issue_id text check (length(issue_id) <= 100 and length(cast(issue_id as blob)) <= 400) references issues,  -- where an escalation is written
    stalled_after_seconds integer check (stalled_after_seconds between -2147483648 and 2147483647) check (stalled_after_seconds > 0),
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at text check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    , constraint "at most 10,000 bytes of text" check (length(cast(coalesce(id, '') || coalesce(tenant, '') || coalesce(title, '') || coalesce(agent_id, '') || coalesce(issue_id, '') as blob)) <= 10000)
) strict;

create table plan_steps (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    plan_id text check (length(plan_id) <= 100 and length(cast(plan_id as blob)) <= 400) references plans on delete cascade not null,
    position integer check (position between -2147483648 and 2147483647) not null,
    title text not null,
    status text not null default 'pending'
        check (status in ('pending', 'in_progress', 'completed', 'skipped', 'failed')),
    stalled_after_seconds integer check (stalled_after_seconds between -2147483648 and 2147483647) check (stalled_after_seconds > 0),
    started_at text check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)),
    updated_at text check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    unique (plan_id, position)
    , constraint "at most 10,000 bytes of text" check (length(cast(coalesce(id, '') || coalesce(plan_id, '') || coalesce(title, '') as blob)) <= 10000)
) strict;

-- Wakes ask that an agent resume work, runs are the work.
create table wakes (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    agent_id text check (length(agent_id) <= 100 and length(cast(agent_id as blob)) <= 400) references agents not null,
    issue_id text check (length(issue_id) <= 100 and length(cast(issue_id as blob)) <= 400) references issues,
    plan_step_id text check (length(plan_step_id) <= 100 and length(cast(plan_step_id as blob)) <= 400) references plan_steps,
    reason text check (length(reason) <= 10000 and length(cast(reason as blob)) <= 40000) not null,
    payload text check (payload is null or json_valid(payload)) not null default '{}',
    status text not null default 'queued'
        check (status in ('queued', 'deferred', 'claimed', 'completed', 'skipped', 'failed', 'cancelled')),
    requested_by text check (length(requested_by) <= 10000 and length(cast(requested_by as blob)) <= 40000) not null,
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at text check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    , constraint "at most 10,000 bytes of text" check (length(cast(coalesce(id, '') || coalesce(agent_id, '') || coalesce(issue_id, '') || coalesce(plan_step_id, '') || coalesce(reason, '') || coalesce(requested_by, '') as blob)) <= 10000)
) strict;

-- The programs that run agents: a row for each start of one. Of the rows with one name the latest is at work; the programs of the others have ended.
create table workers (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    name text check (length(name) <= 200 and length(cast(name as blob)) <= 800) not null,
    started_at text check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    heartbeat_at text check (heartbeat_at is strftime('%Y-%m-%dT%H:%M:%fZ', heartbeat_at))  -- a sign of life of each of its runs
) strict;

create table runs (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    agent_id text check (length(agent_id) <= 100 and length(cast(agent_id as blob)) <= 400) references agents not null,
    issue_id text check (length(issue_id) <= 100 and length(cast(issue_id as blob)) <= 400) references issues,
    plan_step_id text check (length(plan_step_id) <= 100 and length(cast(plan_step_id as blob)) <= 400) references plan_steps,
    wake_id text check (length(wake_id) <= 100 and length(cast(wake_id as blob)) <= 400) references wakes,  -- the wake that started it
    retry_reason text,  -- issue_continuation_needed: a continuation, by sweep or the host
    status text not null default 'queued'
        check (status in ('queued', 'scheduled_retry', 'running', 'succeeded', 'interrupted', 'failed', 'cancelled', 'timed_out')),
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    finished_at text check (finished_at is strftime('%Y-%m-%dT%H:%M:%fZ', finished_at)),
    worker_id text check (length(worker_id) <= 100 and length(cast(worker_id as blob)) <= 400) references workers,  -- the start of the program that runs it
    heartbeat_at text check (heartbeat_at is strftime('%Y-%m-%dT%H:%M:%fZ', heartbeat_at)),  -- its last sign of life
    lost text check (length(lost) <= 200 and length(cast(lost as blob)) <= 800),  -- how it is known that nobody is at work on it any more; null: that is not known
    lease_seconds integer check (lease_seconds between -2147483648 and 2147483647) check (lease_seconds > 0)  -- it is lost when no sign of life comes for so long; null: the policy says how long
    , constraint "at most 10,000 bytes of text" check (length(cast(coalesce(id, '') || coalesce(agent_id, '') || coalesce(issue_id, '') || coalesce(plan_step_id, '') || coalesce(wake_id, '') || coalesce(retry_reason, '') || coalesce(worker_id, '') || coalesce(lost, '') as blob)) <= 10000)
) strict;

-- A session is a process in which an agent works. Its supervisor, `sweep watch` or a host's own, keeps this row current and delivers
-- the commands that a sweep or a person writes.
create table sessions (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    tenant text check (length(tenant) <= 200 and length(cast(tenant as blob)) <= 800) not null default 'default',
    identifier text check (length(identifier) <= 200 and length(cast(identifier as blob)) <= 800) unique,  -- what people call it
    title text not null default '',  -- what runs in it
    directory text,  -- where it runs
    agent_id text check (length(agent_id) <= 100 and length(cast(agent_id as blob)) <= 400) references agents,  -- null: a person started it
    issue_id text check (length(issue_id) <= 100 and length(cast(issue_id as blob)) <= 400) references issues,  -- the issue that it works on, where an escalation is written
    status text not null default 'created'
        check (status in ('created', 'active', 'paused', 'terminated', 'interrupted')),
    stall_paused int check (stall_paused in (false, true)) not null default false,  -- sweeps leave the session alone
    started_at text check (started_at is strftime('%Y-%m-%dT%H:%M:%fZ', started_at)),  -- when its present process was started
    last_activity_at text check (last_activity_at is strftime('%Y-%m-%dT%H:%M:%fZ', last_activity_at)),  -- its last sign of life; null: started_at
    last_progress_at text check (last_progress_at is strftime('%Y-%m-%dT%H:%M:%fZ', last_progress_at)),  -- its last step forward, no repetition; null: started_at
    last_tool text,
    recent_output text not null default '',  -- the last lines of its screen
    exit_code integer check (exit_code between -2147483648 and 2147483647),  -- 128 + n after signal n; null: it runs, or nobody saw its end
    ended_at text check (ended_at is strftime('%Y-%m-%dT%H:%M:%fZ', ended_at)),  -- null: its process runs
    silent_after_seconds integer check (silent_after_seconds between -2147483648 and 2147483647) check (silent_after_seconds > 0),
    takes_nudges int check (takes_nudges in (false, true)) not null default true,  -- may something be typed into it now?
    agent_state text check (agent_state in ('working', 'idle', 'waiting', 'exhausted')),  -- null: unknown
    agent_state_kind text,  -- what the agent waits for (permission, trust, login, ...) or has run out of
    agent_state_since text check (agent_state_since is strftime('%Y-%m-%dT%H:%M:%fZ', agent_state_since)),
    agent_question text,  -- the words with which the agent asks a person
    agent_state_evidence text,  -- how the state is known
    resumes_at text check (resumes_at is strftime('%Y-%m-%dT%H:%M:%fZ', resumes_at)),  -- when the agent's quota is filled again
    watcher text,  -- the settings of the watcher that examines the session, as JSON
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at text check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    , constraint "at most 10,000 bytes of text" check (length(cast(coalesce(id, '') || coalesce(tenant, '') || coalesce(title, '') || coalesce(identifier, '') || coalesce(directory, '') || coalesce(agent_id, '') || coalesce(issue_id, '') || coalesce(last_tool, '') || coalesce(agent_state_kind, '') || coalesce(agent_question, '') || coalesce(agent_state_evidence, '') || coalesce(watcher, '') as blob)) <= 10000)
    , constraint "at most 1,000,000 bytes of output" check (length(cast(coalesce(recent_output, '') as blob)) <= 1000000)
) strict;

create table session_commands (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    session_id text check (length(session_id) <= 100 and length(cast(session_id as blob)) <= 400) references sessions on delete cascade not null,
    command text not null check (command in ('nudge', 'relaunch')),
    message text check (length(message) <= 10000 and length(cast(message as blob)) <= 40000),  -- what a nudge types
    status text not null default 'queued' check (status in ('queued', 'delivered', 'failed')),
    requested_by text check (length(requested_by) <= 10000 and length(cast(requested_by as blob)) <= 40000) not null,
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    updated_at text check (updated_at is strftime('%Y-%m-%dT%H:%M:%fZ', updated_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
    , constraint "at most 10,000 bytes of text" check (length(cast(coalesce(id, '') || coalesce(session_id, '') || coalesce(message, '') || coalesce(requested_by, '') as blob)) <= 10000)
) strict;

-- The comments on issues, for people.
create table comments (
    id text not null primary key check (length(id) <= 100 and length(cast(id as blob)) <= 400),
    issue_id text check (length(issue_id) <= 100 and length(cast(issue_id as blob)) <= 400) references issues not null,
    author text not null,
    body text not null,
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) strict;

create table activity (
    id integer primary key,
    actor text not null,
    action text not null,
    entity_type text not null,
    entity_id text not null,
    details text check (details is null or json_valid(details)) not null default '{}',
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) strict;

-- Indexes for the candidates: the few rows in progress and in flight, in the order of the scan, however many are finished.
create index issues_in_progress on issues (updated_at, id, assignee_agent_id, tenant)
    where status = 'in_progress' and assignee_agent_id is not null and assignee_user_id is null;
create index plan_steps_in_progress on plan_steps (coalesce(started_at, updated_at), id) where status = 'in_progress';
create index issues_held on issues (checkout_run_id) where checkout_run_id is not null;
create index runs_live on runs (issue_id) where status in ('queued', 'scheduled_retry', 'running');
create index runs_live_by_step on runs (plan_step_id) where plan_step_id is not null and status in ('queued', 'scheduled_retry', 'running');
create index runs_live_by_wake on runs (wake_id, created_at desc, id) where wake_id is not null and status in ('queued', 'scheduled_retry', 'running');
create index runs_by_worker on runs (worker_id) where worker_id is not null and status in ('queued', 'scheduled_retry', 'running');
create index workers_by_name on workers (name, started_at);
create index wakes_pending on wakes (issue_id, created_at) where status in ('queued', 'deferred', 'claimed');
create index wakes_pending_by_step on wakes (plan_step_id, created_at) where plan_step_id is not null and status in ('queued', 'deferred', 'claimed');
create index sessions_active on sessions (issue_id, id) where status = 'active';
create index sessions_live on sessions (issue_id, tenant, agent_id, started_at, id) where status = 'active' and ended_at is null;
create index sessions_ended on sessions (issue_id, tenant, agent_id, ended_at) where status = 'active' and ended_at is not null;
create index sessions_paused on sessions (issue_id) where status = 'paused';
create index session_commands_queued on session_commands (session_id, created_at) where status = 'queued';

-- Indexes for the facts and the history of one subject.
create index plans_by_issue on plans (issue_id, tenant, (case status when 'executing' then 0 when 'stalled' then 0 else 1 end));
create index plan_steps_by_plan on plan_steps (plan_id, (case status when 'in_progress' then 0 when 'pending' then 1 else 2 end), position);
create index runs_by_issue on runs (issue_id, created_at desc, id);
create index runs_by_step on runs (plan_step_id, created_at);
create index runs_by_wake on runs (wake_id, created_at desc, id);
create index runs_of_wakes on runs (created_at) where wake_id is not null;
create index wakes_by_step on wakes (plan_step_id, created_at);
create index sessions_by_issue on sessions (issue_id, created_at);
create index session_commands_by_session on session_commands (session_id, created_at);
create index session_relaunches on session_commands (session_id, created_at) where command = 'relaunch';
create index comments_by_issue on comments (issue_id, created_at);
create index activity_by_entity on activity (entity_type, entity_id);

-- The runs of each issue and step that have not ended. A run of a plan's step is one of the plan's issue, too.
create view subject_runs as
select 'issue' as kind, r.issue_id as subject_id, r.id from runs r where r.issue_id is not null and r.status in ('queued', 'scheduled_retry', 'running')
union all
select 'issue', i.id, r.id from issues i join runs r on r.id = i.checkout_run_id where r.status in ('queued', 'scheduled_retry', 'running')
union all
select 'issue', w.issue_id, r.id from wakes w join runs r on r.wake_id = w.id
where w.issue_id is not null and w.status in ('queued', 'deferred', 'claimed') and r.status in ('queued', 'scheduled_retry', 'running')
union all
select 'step', s.id, r.id from plan_steps s join runs r on r.plan_step_id = s.id where r.status in ('queued', 'scheduled_retry', 'running')
union all
select 'step', s.id, r.id from plan_steps s join wakes w on w.plan_step_id = s.id join runs r on r.wake_id = w.id where r.status in ('queued', 'scheduled_retry', 'running')
union all
select 'issue', i.id, r.id from issues i join plans p on p.issue_id = i.id and p.tenant = i.tenant join plan_steps s on s.plan_id = p.id join runs r on r.plan_step_id = s.id where r.status in ('queued', 'scheduled_retry', 'running')
union all
select 'issue', i.id, r.id from issues i join plans p on p.issue_id = i.id and p.tenant = i.tenant join plan_steps s on s.plan_id = p.id join wakes w on w.plan_step_id = s.id join runs r on r.wake_id = w.id where r.status in ('queued', 'scheduled_retry', 'running');

-- The starts of workers that are over, since a later one has begun. A start in the future is a clock's mistake.
create view former_workers as
select w.id from workers w
where exists (select 1 from workers n where n.name = w.name and n.started_at > w.started_at and n.started_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));

-- The watchers that examine sessions besides sweeps.
create view session_watchers as
select id as subject_id, watcher, updated_at as heard_of_at from sessions where status = 'active' and watcher is not null;

-- The constants of this host: one row.
create view host_behavior as
select cast(0.5 as real) as run_end_grace_seconds,  -- how long the host has to say what follows the end of a run
       'set it to in progress or todo' as resume_advice;  -- how a person resumes a blocked issue

-- hosts/native/sqlite/2026-11-24-001102_triggers
-- Copies each row of the ledger into the host's activity log: decisions.md#the-activity-log
create trigger log_recovery after insert on recoveries begin
    insert into activity (actor, action, entity_type, entity_id, details)
    values ('sweep', new.kind || '.' || new.action, new.kind, new.subject_id,
            json_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id));
end;

-- What is continued or escalated has no live run: those whose status still says that they are live are lost. They are closed in the same
-- transaction, so that an old process that lives after all finds its run taken. A row of the ledger alone ends no run: the trigger asks for the
-- evidence.
create trigger close_lost_runs after insert on recoveries when new.kind in ('issue', 'step') and new.action in ('continue', 'escalate') begin
    update runs set status = 'interrupted', finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    where id in (select r.id from subject_runs s join observed_runs r on r.id = s.id
                 where s.kind = new.kind and s.subject_id = new.subject_id
                   and (r.lost is not null
                        or r.lease_seconds is null
                           and r.heartbeat_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('-%f seconds', coalesce(
                               (select json_extract(s.policy, '$.run_silent_after_seconds') from sweeps s where s.id = new.sweep_id),
                               (select p.run_silent_after_seconds from policy p))))));
end;

-- A sign of life of a worker is one of each of its runs, unless these have shown a later one.
create trigger pass_on_heartbeat after update of heartbeat_at on workers when new.heartbeat_at is not null begin
    update runs set heartbeat_at = new.heartbeat_at
    where worker_id = new.id and status in ('queued', 'scheduled_retry', 'running') and (heartbeat_at < new.heartbeat_at) is not false;
end;

-- Notes for a daemon that listens when a run of an issue or a step has ended, or is lost: the latest thousand ends.
create table run_ends (id integer primary key, subject_id text not null) strict;
create trigger note_run_end after update of status, lost on runs
when old.status in ('queued', 'scheduled_retry', 'running')
     and (new.status not in ('queued', 'scheduled_retry', 'running') or old.lost is null and new.lost is not null) begin
    insert into run_ends (subject_id)
    select new.issue_id where new.issue_id is not null union all select new.plan_step_id where new.plan_step_id is not null;
    delete from run_ends where id <= (select max(id) from run_ends) - 1000;
end;
-- When a worker starts again, all runs of its earlier starts are lost.
create trigger note_lost_runs after insert on workers begin
    insert into run_ends (subject_id)
    select id.value from workers w join runs r on r.worker_id = w.id, json_each(json_array(r.issue_id, r.plan_step_id)) id
    where w.name = new.name and w.started_at < new.started_at and r.status in ('queued', 'scheduled_retry', 'running') and id.value is not null;
    delete from run_ends where id <= (select max(id) from run_ends) - 1000;
end;

-- facts/shared/both/2026-11-24-001350_observed_runs
-- The runs, with the evidence that one is lost whose status says that it is live. How long a run that holds no lease may be silent, Rust decides.
-- decisions.md#signs-of-life
create view observed_runs as
select r.id, r.agent_id, r.issue_id, r.plan_step_id, r.wake_id, r.retry_reason, r.status, r.created_at, r.finished_at,
       r.heartbeat_at, r.lease_seconds, r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id))
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end as is_live, case when r.status in ('queued', 'scheduled_retry', 'running') then case
            when r.lost is not null then substr(r.lost, 1, 200)
            when (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) then 'its worker has started again'
            when r.lease_seconds is not null and not coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) then 'its lease has run out' end end as lost
from runs r;

-- facts/shared/sqlite/2026-11-24-001351_runs_and_wakes
-- The runs that work on issues and steps, and the wakes that are on their way.

-- The runs of each issue. A continuation is a run that sweep or the host started to resume work; any other retry belongs to the
-- episode as well: decisions.md#a-retry-belongs-to-its-episode. An attempt is a continuation, or of any wake of sweep's.
create view issue_runs as
select r.id, r.issue_id, r.wake_id, r.status, r.created_at, r.finished_at, r.retry_reason, coalesce(r.finished_at, case when r.lost is not null then coalesce(r.heartbeat_at, r.created_at) end) as ended_at, r.status in ('queued', 'scheduled_retry', 'running') as live,
       coalesce(r.finished_at, r.heartbeat_at, r.created_at) as last_sign_at,
       coalesce(r.retry_reason = 'issue_continuation_needed', 0)
           or exists (select 1 from wakes w where w.id = r.wake_id and w.issue_id = r.issue_id and w.reason = 'issue_continuation_needed') as is_continuation,
       coalesce(r.retry_reason = 'issue_continuation_needed', 0)
           or exists (select 1 from wakes w
                      where w.id = r.wake_id and w.issue_id = r.issue_id and (w.reason = 'issue_continuation_needed' or w.requested_by = 'sweep')) as is_attempt
from observed_runs r
where r.issue_id is not null;

-- The continuations that sweep did not queue. Every continuation counts as an attempt; the ledger has sweep's own. One `union all` of both
-- would be read whole for every issue: SQLite does not pass a joined column into its halves.
create view host_continuations as
select r.issue_id, r.created_at
from issue_runs r
where r.is_continuation
  and not exists (select 1 from recoveries c where c.kind = 'issue' and c.subject_id = r.issue_id and c.wake_id = r.wake_id);

-- The wakes that are pending: neither served nor dropped. A wake whose run has ended, or was heard of, is served, whatever its status says: then
-- the run itself says whether somebody is at work. Nobody will take up the wake of a terminated agent: it is pending only while its run is live.
create view pending_wakes as
select w.id, w.issue_id, w.plan_step_id, w.created_at,
       'wake ' || substr(w.id, 1, 8) || ' (' || w.status || ', by ' || substr(w.requested_by, 1, 100) || ')'
           -- The live run of the wake, or the latest: two queries, each by an index, however many runs the wake had.
           || coalesce(
               (select ', its run ' || substr(r.id, 1, 8) || ' is ' || r.status from runs r
                where r.wake_id = w.id and r.status in ('queued', 'scheduled_retry', 'running') order by r.created_at desc, r.id limit 1),
               (select ', its run ' || substr(r.id, 1, 8) || ' is ' || r.status from runs r where r.wake_id = w.id order by r.created_at desc, r.id limit 1),
               ', no run yet') as detail
from wakes w
join agents a on a.id = w.agent_id
where w.status in ('queued', 'deferred', 'claimed')
  and (exists (select 1 from runs r where r.wake_id = w.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id))
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end)
       or a.status <> 'terminated' and not exists (select 1 from runs r where r.wake_id = w.id));

-- What the runs of each step say that have not ended by their status: the run names the step, or a wake that names it started the run. One
-- `union all` of both would be read whole for every step. A run that works on a step works on the plan's issue, too.
create view worked_steps as
select s.id,
    exists (select 1 from (
        select r.id from runs r where r.plan_step_id = s.id
        union all
        select r.id from wakes w join runs r on r.wake_id = w.id where w.plan_step_id = s.id
    ) o cross join observed_runs r on r.id = o.id and r.status in ('queued', 'scheduled_retry', 'running') where r.is_live) as has_live_run,
    (select max(case when r.lease_seconds is null and r.lost is null then r.heartbeat_at end) from (
        select r.id from runs r where r.plan_step_id = s.id
        union all
        select r.id from wakes w join runs r on r.wake_id = w.id where w.plan_step_id = s.id
    ) o cross join observed_runs r on r.id = o.id and r.status in ('queued', 'scheduled_retry', 'running')) as heard_of_at,
    (select max('run ' || substr(cast(r.id as text), 1, 8) || ' is lost: ' || r.lost) from (
        select r.id from runs r where r.plan_step_id = s.id
        union all
        select r.id from wakes w join runs r on r.wake_id = w.id where w.plan_step_id = s.id
    ) o cross join observed_runs r on r.id = o.id and r.status in ('queued', 'scheduled_retry', 'running')) as lost_run
from plan_steps s;

-- facts/shared/both/2026-11-24-001352_shared_by_kinds
-- Views that the facts of all kinds share. docs/host-reference.md explains every column.

-- Wakes that nobody has taken up: no run of theirs has begun. A deferred wake is none while another run of its issue or step is live.
create view untaken_wakes as
select
       w.id,
       case when s.id is not null then 'step' when i.id is not null then 'issue' end as kind,
       coalesce(s.id, i.id) as subject_id,
       coalesce(p.tenant, i.tenant, 'default') as tenant,
       case when s.id is not null then substr(p.title, 1, 1000) || ' #' || s.position else i.identifier end as identifier,
       substr(coalesce(s.title, i.title), 1, 1000) as title,
       w.agent_id,
       substr(a.name, 1, 1000) as agent_name,
       a.status as agent_status,
       w.created_at
from wakes w
join agents a on a.id = w.agent_id
left join issues i on i.id = w.issue_id
left join plan_steps s on s.id = w.plan_step_id
left join plans p on p.id = s.plan_id
where w.status in ('queued', 'deferred', 'claimed')
  and not exists (select 1 from runs r where r.wake_id = w.id and r.status <> 'queued')
  -- Each `in` is a set that PostgreSQL reads once; for an `exists` it would read all runs for each wake.
  and not (w.status = 'deferred'
           and coalesce(w.issue_id in (select r.issue_id from runs r where r.issue_id is not null and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)))), false))
  and not (w.status = 'deferred'
           and coalesce(w.plan_step_id in (select r.plan_step_id from runs r where r.plan_step_id is not null and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)))), false));

-- Runs at work that have never shown a sign of life, since when neither they nor their issue or step has shown one. A time that lies far in the
-- future is a clock's mistake. A session of the run's agent shows by itself whether it lives. A run works on the step and the issue that it names,
-- or else its wake, or on the issue that it holds, and on that of a step's plan: on the step, if that is in progress.
create view unheard_runs as
select
       r.id,
       case when s.id is not null then 'step' when i.id is not null then 'issue' end as kind,
       coalesce(s.id, i.id) as subject_id,
       coalesce(p.tenant, i.tenant, 'default') as tenant,
       case when s.id is not null then substr(p.title, 1, 1000) || ' #' || s.position else i.identifier end as identifier,
       substr(coalesce(s.title, i.title), 1, 1000) as title,
       r.agent_id,
       substr(a.name, 1, 1000) as agent_name,
       coalesce(r.began_at, coalesce(s.updated_at, i.updated_at)) as created_at,
       max(coalesce(r.began_at, coalesce(s.updated_at, i.updated_at)), coalesce(s.updated_at, i.updated_at)) as since
from (
    select r.id, r.agent_id, case when r.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400)) then r.created_at end as began_at,
           coalesce(r.issue_id, w.issue_id, (select i.id from issues i where i.id = p.issue_id and i.tenant = p.tenant)) as issue_id,
           case when s.status = 'in_progress' then s.id end as plan_step_id
    from observed_runs r
    left join wakes w on w.id = r.wake_id
    left join plan_steps s on s.id = coalesce(r.plan_step_id, w.plan_step_id)
    left join plans p on p.id = s.plan_id
    where r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400)))
      and r.status in ('queued', 'scheduled_retry', 'running') and (r.status <> 'queued' or r.wake_id is null)
    union all
    select r.id, r.agent_id, case when r.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400)) then r.created_at end, i.id, null
    from issues i
    join observed_runs r on r.id = i.checkout_run_id
    where i.status = 'in_progress' and r.issue_id is null and r.wake_id is null and r.plan_step_id is null and r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400)))
      and r.status in ('queued', 'scheduled_retry', 'running') and (r.status <> 'queued' or r.wake_id is null)
) r
left join agents a on a.id = r.agent_id
left join issues i on i.id = r.issue_id
left join plan_steps s on s.id = r.plan_step_id
left join plans p on p.id = s.plan_id
where coalesce(s.status, i.status) = 'in_progress'
  and not exists (select 1 from sessions o where o.issue_id = i.id and o.tenant = i.tenant and (o.agent_id is null or o.agent_id = r.agent_id)
                  and o.status = 'active' and o.ended_at is null);

-- The times at which wakes were taken up: the beginnings of their runs.
create view wake_pickups as
select r.wake_id, r.created_at as taken_at from runs r where r.wake_id is not null and r.status <> 'queued';

-- sweep's wakes that were dropped, or whose agent was terminated, before any run: none of them is an attempt.
-- A scalar subquery is asked for each, by the wake's keys: joined, all wakes might be read.
create view unserved_continuations as
select c.kind, c.subject_id, c.created_at
from recoveries c
where c.action = 'continue' and (
    select w.id from wakes w join agents a on a.id = w.agent_id
    where w.id = c.wake_id
      and (w.status in ('cancelled', 'skipped') or a.status = 'terminated' and w.status in ('queued', 'deferred', 'claimed'))
      and not exists (select 1 from runs r where r.wake_id = w.id)
    limit 1
) is not null;

-- The sessions that work on an issue of their tenant: those of its assignee, and those without an agent.
create view issue_sessions as
select s.id, i.id as issue_id, s.status, s.started_at, s.last_activity_at, s.ended_at
from issues i join sessions s on s.issue_id = i.id and s.tenant = i.tenant
where s.agent_id is null or s.agent_id = i.assignee_agent_id;

-- Relaunches that are on their way: queued, or taken within a minute and their process not up yet.
create view issue_relaunches as
select s.issue_id, s.id as session_id, c.created_at
from issue_sessions s join session_commands c on c.session_id = s.id
where s.status = 'active' and c.command = 'relaunch'
  and (c.status = 'queued' or c.status = 'delivered' and s.ended_at <= c.updated_at and c.updated_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 60)));

-- Continuations that were not needed: a run that had begun before the wake, and was not started by it, reported within a day, so its owner
-- was alive. Only success is a report, since others too fail, time out, interrupt or cancel a run. The latest of the earlier runs are read: all
-- of them for each continuation would cost the product of both numbers.
create view false_rescues as
select recovery_id, subject_id, kind, continued_at, reported_at
from (
    select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, (
        select min(r.finished_at)
        from (
            select * from (select r.* from runs r where r.issue_id = i.id and r.created_at < c.created_at order by r.created_at desc limit 100) r
            union all
            select r.* from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join plan_steps t on t.id in (
        select t.id from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 50)) t
            cross join runs r on r.id in (
        select r.id from runs r where r.plan_step_id = t.id and r.created_at < c.created_at order by r.created_at desc limit 10)
            union all
            select * from (select r.* from runs r where c.kind = 'step' and r.plan_step_id = c.subject_id and r.created_at < c.created_at
                           order by r.created_at desc limit 100) r
            union all
            select r.* from (select w.id from wakes w where c.kind = 'step' and w.plan_step_id = c.subject_id and w.created_at < c.created_at
                             order by w.created_at desc limit 50) w
            cross join runs r on r.id in (
        select r.id from runs r where r.wake_id = w.id and r.created_at < c.created_at order by r.created_at desc limit 2)
        ) r
        where r.status = 'succeeded' and c.created_at < r.finished_at and not coalesce(r.wake_id = c.wake_id, false)
    ) as reported_at
    from recoveries c left join issues i on c.kind = 'issue' and i.id = c.subject_id
    where c.action = 'continue'
) c
where reported_at <= strftime('%Y-%m-%dT%H:%M:%fZ', continued_at, printf('+%f seconds', 86400));

-- facts/issue/both/2026-11-24-001353_issue_candidates
-- The candidates among the issues.

-- The issues in progress, healthy or not. The candidates are a share of them.
create view issue_subjects as
select i.id as subject_id, i.assignee_agent_id as group_id, i.tenant from issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;

-- Issues in progress that an agent has, and on which at first sight nobody works. A wake hides its issue for a minute only:
-- decisions.md#a-wake-hides-its-issue-for-a-minute. The tenant is in the scan, so that one company can be
-- swept alone; the agent is the group, so that its oldest work is examined first however many workers there are.
create view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)))
                  and (r.heartbeat_at is null or r.lease_seconds is not null or r.heartbeat_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 1))))
  -- The condition of issue_sessions; that view would read the issues once more.
  and not exists (select 1 from sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null
                  and s.tenant = i.tenant and (s.agent_id is null or s.agent_id = i.assignee_agent_id))
  and not (exists (select 1 from pending_wakes w where w.issue_id is not null and w.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 60)) and w.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') and w.issue_id = i.id));

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not (exists (select 1 from unattended_issues u where u.subject_id is not null and u.subject_id = r.subject_id));

-- facts/issue/sqlite/2026-11-24-001354_issue_facts
-- The facts of an issue that decide. docs/host-reference.md explains every column.

-- The oldest continuation that is on its way to an issue: its time, which has 24 characters, and then its description.
create view issue_pending as
select i.id as issue_id, (
    select min(oldest) from (
        -- The order is by a column of the result: by another, all wakes would be read where a host's are the two halves of a union.
        select oldest from (select * from (select w.created_at || w.detail as oldest, w.created_at from pending_wakes w where w.issue_id = i.id order by w.created_at limit 50) a_few)
        union all
        select * from (select w.created_at || w.detail from plans p join plan_steps s on s.plan_id = p.id
            join pending_wakes w on w.plan_step_id = s.id where p.issue_id = i.id and p.tenant = i.tenant limit 50) a_few
        union all
        -- A relaunch resumes its session's issue.
        select * from (select r.created_at || 'the relaunch of session ' || substr(r.session_id, 1, 8) from issue_relaunches r where r.issue_id = i.id limit 50) a_few
    )
) as oldest
from issues i;

-- The beginning of each issue's episode. Without rows max() is null, and so is max(a, null); '' sorts before every timestamp instead.
create view issue_episodes as
select i.id as issue_id, max(
    coalesce(i.started_at, i.created_at),
    coalesce((select max(r.created_at) from issue_runs r where r.issue_id = i.id and r.retry_reason is null and not r.is_attempt), ''),
    coalesce((select max(e.created_at) from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
              -- An escalation in the future is a clock's mistake and began no episode: decisions.md#times-in-the-future
              and e.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), '')
) as began_at
from issues i;

create view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    substr(i.title, 1, 1000) as title,
    i.status,
    i.assignee_agent_id as agent_id,
    substr(a.name, 1, 1000) as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id))
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end)
        or exists (select 1 from runs r where r.id = i.checkout_run_id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id))
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end)
        or exists (select 1 from wakes w join runs r on r.wake_id = w.id where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id))
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end)
        or exists (select 1 from plans p join plan_steps s on s.plan_id = p.id join worked_steps r on r.id = s.id
                   where p.issue_id = i.id and p.tenant = i.tenant and r.has_live_run)
        or exists (select 1 from issue_sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null)
        as has_live_run,
    (select max(case when r.lease_seconds is null and r.lost is null then r.heartbeat_at end) from (
        select r.id from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running')
        union all
        select i.checkout_run_id
        union all
        select r.id from wakes w join runs r on r.wake_id = w.id where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
        union all
        select r.id from plans p join plan_steps s on s.plan_id = p.id cross join runs r on r.plan_step_id = s.id
        where p.issue_id = i.id and p.tenant = i.tenant
        union all
        select r.id from plans p join plan_steps s on s.plan_id = p.id cross join wakes w on w.plan_step_id = s.id cross join runs r on r.wake_id = w.id
        where p.issue_id = i.id and p.tenant = i.tenant
    ) o cross join observed_runs r on r.id = o.id and r.status in ('queued', 'scheduled_retry', 'running')) as run_heard_of_at,
    (select max('run ' || substr(cast(r.id as text), 1, 8) || ' is lost: ' || r.lost) from (
        select r.id from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running')
        union all
        select i.checkout_run_id
        union all
        select r.id from wakes w join runs r on r.wake_id = w.id where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
        union all
        select r.id from plans p join plan_steps s on s.plan_id = p.id cross join runs r on r.plan_step_id = s.id
        where p.issue_id = i.id and p.tenant = i.tenant
        union all
        select r.id from plans p join plan_steps s on s.plan_id = p.id cross join wakes w on w.plan_step_id = s.id cross join runs r on r.wake_id = w.id
        where p.issue_id = i.id and p.tenant = i.tenant
    ) o cross join observed_runs r on r.id = o.id and r.status in ('queued', 'scheduled_retry', 'running')) as lost_run,
    substr(pending.oldest, 1, 24) as pending_wake_since,
    substr(pending.oldest, 25) as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 1) then substr(i.waiting_for, 1, 1000)
         when i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now') then coalesce('until ' || strftime('%Y-%m-%d %H:%M', i.wait_until), 'for ever')
         when exists (select 1 from issue_sessions s where s.issue_id = i.id and s.status = 'paused' and s.ended_at is null) then 'its session is paused' end
        as declared_wait,
    cast(null as text) as obstacle,
    (select r.id from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1) as last_run_id,
    (select max(r.finished_at) from issue_runs r where r.issue_id = i.id and not r.live) as last_run_ended_at,
    (select 'run ' || substr(r.id, 1, 8) || ' ' || replace(r.status, '_', ' ') from issue_runs r
     where r.issue_id = i.id and not r.live order by r.created_at desc, r.id limit 1) as last_run_end,
    cast(null as text) as last_run_error,
    cast(null as text) as last_run_agent_id,
    cast(null as text) as host_plan,
    cast(null as text) as unreachable,
    cast(null as text) as unstarted,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    cast(null as text) as resume_commands,
    max(
        i.updated_at,
        coalesce((select max(r.last_sign_at) from issue_runs r where r.issue_id = i.id), ''),
        coalesce((select max(coalesce(r.finished_at, r.heartbeat_at, r.created_at)) from plans p join plan_steps s on s.plan_id = p.id
                  join runs r on r.plan_step_id = s.id where p.issue_id = i.id and p.tenant = i.tenant), ''),
        coalesce((select max(max(coalesce(s.last_activity_at, ''), coalesce(s.ended_at, ''))) from sessions s
                  where s.issue_id = i.id and s.tenant = i.tenant), '')
    ) as idle_since,
    episode.began_at as episode_began_at,
    max(
        (select count(*) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'
         and c.created_at >= episode.began_at)
            + (select count(*) from host_continuations c where c.issue_id = i.id and c.created_at >= episode.began_at),
        -- The ledger's number outlives runs that the host prunes.
        (select coalesce(max(c.attempt), 0) from recoveries c where c.kind = 'issue' and c.subject_id = i.id
         and c.action = 'continue' and c.created_at >= episode.began_at)
    ) - (select count(*) from unserved_continuations c where c.kind = 'issue' and c.subject_id = i.id
         and c.created_at >= episode.began_at) as attempts,
    (select count(*) from unserved_continuations c where c.kind = 'issue' and c.subject_id = i.id
     and c.created_at >= episode.began_at) as attempts_unserved,
    (select count(*) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'
     and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        + (select count(*) from host_continuations c where c.issue_id = i.id and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        as attempts_last_day,
    nullif(max(
        coalesce((select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'), ''),
        coalesce((select max(c.created_at) from host_continuations c where c.issue_id = i.id), '')
    ), '') as last_attempt_at,
    (select max(r.ended_at) from issue_runs r where r.issue_id = i.id and r.is_attempt) as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.since >= episode.began_at, 0) as escalated,
    (select count(*) from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
     and e.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as observed_at
from issues i
cross join host_behavior behavior
left join agents a on a.id = i.assignee_agent_id
left join open_recoveries o on o.kind = 'issue' and o.subject_id = i.id
                      and not (o.blocked_subject and i.status = 'blocked')
join issue_pending pending on pending.issue_id = i.id
join issue_episodes episode on episode.issue_id = i.id;

-- facts/step/both/2026-11-24-001355_step_candidates
-- The candidates among the steps of plans.

-- The steps in progress, healthy or not. The candidates are a share of them.
create view step_subjects as
select s.id as subject_id, coalesce(p.agent_id, p.id) as group_id, p.tenant
from plan_steps s join plans p on p.id = s.plan_id and p.status in ('executing', 'stalled')
where s.status = 'in_progress';

-- Steps in progress of an open plan, on which at first sight nobody works. Rust decides how long is too long.
create view unattended_steps as
select s.id as subject_id, coalesce(p.agent_id, p.id) as group_id, coalesce(s.started_at, s.updated_at) as since, p.tenant
from plan_steps s join plans p on p.id = s.plan_id and p.status in ('executing', 'stalled')
where s.status = 'in_progress'
  and not (exists (select 1 from worked_steps r where (r.has_live_run or r.heard_of_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 1))) and r.id = s.id))
  and not (exists (select 1 from pending_wakes w where w.plan_step_id is not null and w.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 60)) and w.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') and w.plan_step_id = s.id));

create view step_candidates as
select subject_id, group_id, since, tenant from unattended_steps
union all
select s.id, coalesce(p.agent_id, p.id), coalesce(s.started_at, s.updated_at), p.tenant
from recoveries r join plan_steps s on s.id = r.subject_id join plans p on p.id = s.plan_id
where r.kind = 'step' and r.settled_at is null
  and not (exists (select 1 from unattended_steps u where u.subject_id is not null and u.subject_id = r.subject_id));

-- facts/step/sqlite/2026-11-24-001356_step_facts
-- The facts of a plan step that decide. docs/host-reference.md explains every column.

create view step_episodes as
select s.id as step_id, max(
    coalesce(s.started_at, s.updated_at),
    coalesce((select max(e.created_at) from recoveries e where e.kind = 'step' and e.subject_id = s.id and e.action = 'escalate'
              and e.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), '')
) as began_at
from plan_steps s;

-- The oldest continuation that is on its way to a step, in the form of issue_pending. A wake of the issue resumes the step as well
-- (decisions.md#linked-work), if the issue is of the plan's tenant.
create view step_pending as
select s.id as step_id, (
    select min(w.created_at || w.detail) from (
        select w.created_at, w.detail from pending_wakes w where w.plan_step_id = s.id
        union all
        
        select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') order by w.created_at limit 25) o
        cross join pending_wakes w on w.id = o.id and w.issue_id = i.id
        union all select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') order by w.created_at desc limit 25) o
        cross join pending_wakes w on w.id = o.id and w.issue_id = i.id
        union all select w.created_at, w.detail
        from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join plan_steps t on t.id in (
        select t.id from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 50)) t
        cross join wakes o on o.id in (
        select o.id from wakes o where o.plan_step_id = t.id and o.status in ('queued', 'deferred', 'claimed') order by o.created_at desc limit 5)
        cross join pending_wakes w on w.id = o.id and w.plan_step_id = t.id
        -- The sessions that ended first, since a sweep relaunches these first.
        union all select c.created_at, 'the relaunch of session ' || substr(cast(o.id as text), 1, 8)
        from (
            select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null and o.status = 'active' and o.ended_at is not null order by o.ended_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null and o.status = 'active' and o.ended_at is null order by o.started_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id and o.status = 'active' and o.ended_at is not null order by o.ended_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id and o.status = 'active' and o.ended_at is null order by o.started_at limit 10) a_few
        ) o
        cross join session_commands c on c.id in (
        select c.id from session_commands c where c.session_id = o.id and c.command = 'relaunch' order by c.created_at desc limit 5)
        where c.status = 'queued' or c.status = 'delivered' and o.ended_at <= c.updated_at and c.updated_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 60))
    ) w
) as oldest
from plan_steps s
join plans plan on plan.id = s.plan_id
left join issues i on i.id = plan.issue_id and i.tenant = plan.tenant;

create view step_facts as
select
    s.id as subject_id,
    p.tenant,
    substr(p.title, 1, 1000) || ' #' || s.position as identifier,
    substr(s.title, 1, 1000) as title,
    s.status,
    p.id as plan_id,
    p.status as plan_status,
    s.position,
    coalesce(s.stalled_after_seconds, p.stalled_after_seconds) as stalled_after_seconds,
    p.agent_id,
    substr(a.name, 1, 1000) as agent_name,
    a.status as agent_status,
    i.id as issue_id,
    exists (select 1 from worked_steps r where r.id = s.id and r.has_live_run) as has_live_run,
    (select max(r.heard_of_at) from worked_steps r where r.id = s.id) as run_heard_of_at,
    (select max(r.lost_run) from worked_steps r where r.id = s.id) as lost_run,
    substr(pending.oldest, 1, 24) as pending_wake_since,
    substr(pending.oldest, 25) as pending_wake,
    coalesce(s.started_at, s.updated_at) as idle_since,
    episode.began_at as episode_began_at,
    (select count(*) from recoveries c where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at >= episode.began_at)
        - (select count(*) from unserved_continuations c where c.kind = 'step' and c.subject_id = s.id
           and c.created_at >= episode.began_at) as attempts,
    (select count(*) from unserved_continuations c where c.kind = 'step' and c.subject_id = s.id
     and c.created_at >= episode.began_at) as attempts_unserved,
    (select count(*) from recoveries c where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as attempts_last_day,
    (select max(c.created_at) from recoveries c where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue')
        as last_attempt_at,
    (select max(coalesce(r.finished_at, case when r.lost is not null then coalesce(r.heartbeat_at, r.created_at) end)) from recoveries c join observed_runs r on r.wake_id = c.wake_id
     where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue') as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, 0) as escalated,
    (select count(*) from recoveries e where e.kind = 'step' and e.subject_id = s.id and e.action = 'escalate'
     and e.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as observed_at
from plan_steps s
join plans p on p.id = s.plan_id
left join agents a on a.id = p.agent_id
-- A plan's issue counts only if it is of the plan's tenant.
left join issues i on i.id = p.issue_id and i.tenant = p.tenant
left join open_recoveries o on o.kind = 'step' and o.subject_id = s.id
                      and true
join step_pending pending on pending.step_id = s.id
join step_episodes episode on episode.step_id = s.id;

-- facts/session/both/2026-11-24-001357_session_candidates
-- The candidates among the sessions.

-- The sessions in progress, healthy or not: active, and not ended well. The candidates are a share of them.
create view session_subjects as
select s.id as subject_id, coalesce(s.agent_id, s.id) as group_id, s.tenant
from sessions s where s.status = 'active' and (s.ended_at is null or coalesce(s.exit_code <> 0, true));

-- Active sessions whose process ended, whose agent waits for a person, or which made no progress for a second, the shortest
-- threshold. Whether the output repeats itself is decided in Rust.
create view unattended_sessions as
select s.id as subject_id, coalesce(s.agent_id, s.id) as group_id,
       coalesce(s.ended_at, s.last_activity_at, s.started_at, s.created_at) as since, s.tenant
from sessions s
where s.status = 'active' and not s.stall_paused
  and case when s.ended_at is not null
           then coalesce(s.exit_code <> 0, true)
                and not exists (select 1 from issues i where i.id = s.issue_id and i.tenant = s.tenant and i.status in ('done', 'cancelled'))
           -- A sign of life in the future would otherwise hide the session for ever.
           else coalesce(s.last_progress_at, s.started_at, s.created_at) < strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 1))
                or coalesce(s.last_progress_at, s.started_at, s.created_at) > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400))
                or s.agent_state in ('waiting', 'exhausted') end;

create view session_candidates as
select subject_id, group_id, since, tenant from unattended_sessions
union all
select s.id, coalesce(s.agent_id, s.id), coalesce(s.ended_at, s.last_activity_at, s.started_at, s.created_at), s.tenant
from recoveries r join sessions s on s.id = r.subject_id
where r.kind = 'session' and r.settled_at is null
  and not exists (select 1 from unattended_sessions u where u.subject_id = s.id);

-- facts/session/both/2026-11-24-001358_session_facts
-- The facts of a session that decide. docs/host-reference.md explains every column.

-- The beginning of each session's episode, by the ledger. A sign of life begins one as well: Rust decides which signs count.
create view session_episodes as
select s.id as session_id, max(s.created_at, coalesce(
    (select max(e.created_at) from recoveries e
     where e.kind = 'session' and e.subject_id = s.id and e.action in ('escalate', 'recover', 'hand_over')
       and e.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), s.created_at)) as began_at
from sessions s;

create view session_facts as
select
    s.id as subject_id,
    s.tenant,
    s.identifier,
    substr(s.title, 1, 1000) as title,
    s.status,
    -- A session waits with its issue, if that waits for a person or declares what it waits for.
    case when s.stall_paused then 'its stall detection is paused'
         -- The supervisor has a minute to see that the agent goes on.
         when s.agent_state = 'exhausted' and s.resumes_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 60))
         then 'its agent''s quota is used up until ' || strftime('%Y-%m-%d %H:%M', s.resumes_at) || ' UTC'
         when s.agent_id is not null and (i.assignee_user_id is not null or i.assignee_agent_id <> s.agent_id) then 'its issue is another''s now'
         when i.status in ('blocked', 'in_review') then 'its issue is ' || replace(i.status, '_', ' ')
         when i.waiting_for is not null and coalesce(i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), true) then 'its issue waits: ' || substr(i.waiting_for, 1, 1000)
         when i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
         then 'its issue waits ' || coalesce('until ' || strftime('%Y-%m-%d %H:%M', i.wait_until), 'for ever') end
        as declared_wait,
    s.stall_paused,
    s.agent_id,
    substr(a.name, 1, 1000) as agent_name,
    a.status as agent_status,
    i.id as issue_id,
    i.status as issue_status,
    exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds))))
        or exists (select 1 from runs r where r.id = i.checkout_run_id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds))))
        -- The condition of issue_sessions, with nobody's and the assignee's sessions apart and in order, so that an index passes by all others.
        or (select o.id from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null
            and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 1) is not null
        or (select o.id from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id
            and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 1) is not null
        or (select t.id from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join plan_steps t on t.id in (
        select t.id from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 50)) t
            where (select r.id from runs r where r.plan_step_id = t.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds))) limit 1) is not null
               or (select r.id from (select w.id from wakes w where w.plan_step_id = t.id order by w.created_at desc limit 5) w
                   cross join runs r on r.id in (
        select r.id from runs r where r.wake_id = w.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds))) order by r.created_at desc, r.id limit 1) limit 1) is not null
            limit 1) is not null
        or (select p.id from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 1 offset 10) p where p.status in ('executing', 'stalled')) is not null
        or (select t.id from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join plan_steps t on t.id in (
        select t.id from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 1 offset 50)) t where t.status = 'in_progress' limit 1) is not null
        as issue_has_live_run,
    (select min(w.created_at) from (
        select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') order by w.created_at limit 25) o
        cross join pending_wakes w on w.id = o.id and w.issue_id = i.id
        union all select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') order by w.created_at desc limit 25) o
        cross join pending_wakes w on w.id = o.id and w.issue_id = i.id
        union all select w.created_at, w.detail
        from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join plan_steps t on t.id in (
        select t.id from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 50)) t
        cross join wakes o on o.id in (
        select o.id from wakes o where o.plan_step_id = t.id and o.status in ('queued', 'deferred', 'claimed') order by o.created_at desc limit 5)
        cross join pending_wakes w on w.id = o.id and w.plan_step_id = t.id
        -- The sessions that ended first, since a sweep relaunches these first.
        union all select c.created_at, 'the relaunch of session ' || substr(cast(o.id as text), 1, 8)
        from (
            select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null and o.status = 'active' and o.ended_at is not null and o.id <> s.id order by o.ended_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id and o.status = 'active' and o.ended_at is not null and o.id <> s.id order by o.ended_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 10) a_few
        ) o
        cross join session_commands c on c.id in (
        select c.id from session_commands c where c.session_id = o.id and c.command = 'relaunch' order by c.created_at desc limit 5)
        where c.status = 'queued' or c.status = 'delivered' and o.ended_at <= c.updated_at and c.updated_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 60))
    ) w) as issue_wake_since,
    coalesce(s.started_at, s.created_at) as started_at,
    coalesce(s.last_progress_at, s.started_at, s.created_at) as progressed_at,
    s.ended_at,
    s.exit_code,
    s.silent_after_seconds,
    s.recent_output,
    substr(s.directory, 1, 1000) as directory,
    true as takes_commands,
    s.last_progress_at is not null as reports_progress,
    s.takes_nudges,
    s.agent_state,
    substr(s.agent_state_kind, 1, 100) as agent_state_kind,
    coalesce(s.agent_state_since, s.updated_at) as agent_state_since,
    substr(s.agent_question, 1, 1000) as agent_question,
    substr(s.agent_state_evidence, 1, 1000) as agent_state_evidence,
    (select min(c.created_at) from session_commands c where c.session_id = s.id and c.status = 'queued') as pending_command_since,
    max(
        coalesce(s.started_at, s.created_at), coalesce(s.last_activity_at, s.started_at, s.created_at),
        coalesce(s.last_progress_at, s.started_at, s.created_at)
    ) as idle_since,
    episode.began_at as episode_began_at,
    (select count(*) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at >= episode.began_at) as attempts,
    (select count(*) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 86400)) and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as attempts_last_day,
    (select max(c.created_at) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue')
        as last_attempt_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, false) as escalated,
    (select count(*) from recoveries e where e.kind = 'session' and e.subject_id = s.id and e.action = 'escalate'
     and e.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 86400)) and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as observed_at
from sessions s
left join agents a on a.id = s.agent_id
-- A session's issue counts only if it is of the session's tenant.
left join issues i on i.id = s.issue_id and i.tenant = s.tenant
left join open_recoveries o on o.kind = 'session' and o.subject_id = s.id
                      and true
join session_episodes episode on episode.session_id = s.id;

-- board/agents/2026-11-24-001400_agent_names
-- The names of agents. A count by agent joins them last, since there may be very many rows.
create view agent_names as
select id as agent_id, substr(name, 1, 1000) as agent_name from agents;

-- board/session/2026-11-24-001401_session_state
-- The facts and exemptions by which sweep decides.
create view session_decided_facts as
select f.*, e.reason as exemption, e.until as exemption_until, ea.reason as agent_exemption, ea.until as agent_exemption_until,
       et.reason as tenant_exemption, et.until as tenant_exemption_until,
       -- The agent of which people were told that it is gone or terminated, by what is open.
       (select r.agent_id from recoveries r where r.id = f.open_recovery_id and r.lost_agent) as lost_agent_id,
       -- take_session fills these in: whether it holds the subject, and the agent and the issue that it holds with it.
       false as held, cast(null as id) as held_agent_id, cast(null as id) as held_issue_id
from session_facts f
left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id
left join agent_exemptions ea on ea.agent_id = f.agent_id
left join tenant_exemptions et on et.tenant = f.tenant;


-- Why each session in progress is in its state.
create view session_reasons as
select f.subject_id, f.tenant, f.agent_id, f.issue_wake_since, f.pending_command_since, f.ended_at, f.idle_since, f.open_recovery_action,
       case
            when f.declared_wait is not null then 'declared_wait'
            when strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.nudge_delay_seconds)) <= f.pending_command_since then 'pending_command'
            when f.observed_at < f.ended_at then 'recent'
            when f.ended_at is not null and f.issue_has_live_run then 'live_run'
            when case when f.ended_at is not null then f.issue_wake_since end between strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.wake_stuck_after_seconds))
                 and strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('+%f seconds', p.clock_ahead_max_seconds)) then 'pending_wake'
            when case when f.ended_at is not null then f.issue_wake_since end is not null then 'stuck_wake'
            -- Only a sweep sees a loop or a question on a screen: the session is active until a sweep has escalated it, and escalated until
            -- a sweep sees that this has ended. decisions.md#a-looping-session-is-never-quiet
            when f.ended_at is null and not (f.idle_since < strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end)))
                   and (f.agent_state is null or not f.agent_state in (select value from json_each(p.vocabulary, '$.needs_person'))))
                 and not ((f.recent_output <> '' or f.agent_state is not null or f.reports_progress) and f.escalated) then 'recent'
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when f.agent_id is not null and f.agent_status is null then 'no_such_agent'
            when f.agent_id is not null and not f.agent_status in (select value from json_each(p.vocabulary, '$.wakeable')) then 'unavailable'
            when f.escalated and (case when f.reports_progress then f.progressed_at else f.idle_since end <= f.open_recovery_at or f.ended_at is null and not (f.idle_since < strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end)))
                   and (f.agent_state is null or not f.agent_state in (select value from json_each(p.vocabulary, '$.needs_person')))))
                 or max(p.attempts_per_day_max, 1) <= f.escalations_last_day
            then case when f.ended_at is null then 'escalated'
                      when f.exit_code is null then 'escalated_crash_unseen'
                      else 'escalated_crash' end
            when f.ended_at is null then 'silent'
            when f.exit_code is null then 'crashed_unseen'
            else 'crashed' end as reason
from session_subjects s
join session_facts f on f.subject_id = s.subject_id
left join policy p on true
left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until)
where (f.issue_status is null or not f.issue_status in (select value from json_each(p.vocabulary, '$.finished')))
limit -1;  -- has SQLite compute the view once, not once for each column that needs it

create view session_states as
select w.subject_id, w.tenant, w.agent_id, w.reason,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.issue_wake_since
           when w.reason = 'pending_command' then w.pending_command_since
           when w.reason in ('crashed', 'crashed_unseen', 'escalated_crash', 'escalated_crash_unseen') then w.ended_at
           when w.reason = 'escalated' then coalesce((
               select r.created_at from recoveries r
               where r.kind = 'session' and r.subject_id = w.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1), w.idle_since)
           else w.idle_since end as since
from session_reasons w
left join board_texts t on t.reason = w.reason;

create view session_details as
select f.subject_id, t.reason, f.identifier, f.title, f.agent_name, f.idle_since,
       case t.reason
           when 'declared_wait' then f.declared_wait
           when 'crashed' then replace(t.text, '{exit_code}', cast(f.exit_code as text)
               || case when f.exit_code between 129 and 192 then ' (signal ' || cast(f.exit_code - 128 as text) || ')' else '' end)
           when 'escalated_crash' then replace(t.text, '{exit_code}', cast(f.exit_code as text)
               || case when f.exit_code between 129 and 192 then ' (signal ' || cast(f.exit_code - 128 as text) || ')' else '' end)
           when 'exempt' then coalesce(e.reason, ea.reason, et.reason)
           when 'unavailable' then replace(replace(
               t.text, '{status}', replace(f.agent_status, '_', ' ')), '{agent}', coalesce(f.agent_name, ''))
           when 'escalated' then (
               select r.reason from recoveries r
               where r.kind = 'session' and r.subject_id = f.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1)
           else t.text end as detail
from session_facts f
cross join board_texts t
left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until);

-- The state of each session in progress.
create view session_work_state as
select w.subject_id, w.tenant, d.identifier, d.title, w.agent_id, d.agent_name, w.state, d.detail, coalesce(w.since, d.idle_since) as since
from session_states w
left join session_details d on d.subject_id = w.subject_id and d.reason = w.reason;

-- board/issue/2026-11-24-001402_issue_state
-- The facts and exemptions by which sweep decides.
create view issue_decided_facts as
select f.*, e.reason as exemption, e.until as exemption_until, ea.reason as agent_exemption, ea.until as agent_exemption_until,
       et.reason as tenant_exemption, et.until as tenant_exemption_until,
       -- The agent of which people were told that it is gone or terminated, by what is open.
       (select r.agent_id from recoveries r where r.id = f.open_recovery_id and r.lost_agent) as lost_agent_id,
       -- take_issue fills these in: whether it holds the subject, and the agent and the issue that it holds with it.
       false as held, cast(null as id) as held_agent_id, cast(null as id) as held_issue_id
from issue_facts f
left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
left join agent_exemptions ea on ea.agent_id = f.agent_id
left join tenant_exemptions et on et.tenant = f.tenant;

-- Issues that sweep blocked and no person has taken back. There may be very many, so nothing here reads their facts, and the cross join
-- keeps SQLite from starting with the issues, all of which it would have to sort.
create view escalated_issues as
select r.subject_id, i.tenant, i.identifier, substr(i.title, 1, 1000) as title, i.assignee_agent_id as agent_id,
       substr(a.name, 1, 1000) as agent_name, r.reason, r.attempt, r.created_at as since,
       (select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = r.subject_id and c.action = 'continue')
           as last_attempt_at
from recoveries r
cross join issues i
left join agents a on a.id = i.assignee_agent_id
where i.id = r.subject_id and i.status = 'blocked' and r.kind = 'issue' and r.settled_at is null and r.blocked_subject;


-- Why each issue in progress is in its state.
create view issue_reasons as
select f.subject_id, f.tenant, f.agent_id, f.idle_since, f.open_recovery_action, f.pending_wake_since,
       case
            when f.has_live_run or f.run_heard_of_at >= strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.run_silent_after_seconds)) then 'live_run'
            when f.pending_wake_since between strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.wake_stuck_after_seconds))
                 and strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('+%f seconds', p.clock_ahead_max_seconds)) then 'pending_wake'
            when f.pending_wake_since is not null then 'stuck_wake'
            when f.declared_wait is not null then 'declared_wait'
            when f.host_plan is not null then 'host_plan'
            when strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', f.run_end_grace_seconds)) <= f.last_run_ended_at then 'recent'
            when f.observed_at < f.episode_began_at
                 or f.lost_run is null and strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.orphan_grace_seconds)) <= f.idle_since then 'recent'
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when f.agent_id is not null and f.agent_status is null and f.unreachable is null then 'no_such_agent'
            when f.agent_id is not null and not f.agent_status in (select value from json_each(p.vocabulary, '$.wakeable')) then 'unavailable'
            when f.obstacle is not null then 'obstacle'
            when f.escalated then 'escalated'
            -- A subject that has used up its escalations of a day is left.
            when max(p.attempts_per_day_max, 1) <= f.escalations_last_day
                 and (f.unreachable is not null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
            else 'orphaned' end as reason
from issue_subjects s
join issue_facts f on f.subject_id = s.subject_id
left join policy p on true
left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until)
where true
limit -1;  -- has SQLite compute the view once, not once for each column that needs it

create view issue_states as
select w.subject_id, w.tenant, w.agent_id, w.reason,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since
           when w.reason = 'escalated' then coalesce((
               select r.created_at from recoveries r
               where r.kind = 'issue' and r.subject_id = w.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1), w.idle_since)
           else w.idle_since end as since
from issue_reasons w
left join board_texts t on t.reason = w.reason;

create view issue_details as
select f.subject_id, t.reason, f.identifier, f.title, f.agent_name, f.idle_since,
       case t.reason
           when 'declared_wait' then f.declared_wait
           when 'host_plan' then f.host_plan
           when 'obstacle' then f.obstacle
           when 'exempt' then coalesce(e.reason, ea.reason, et.reason)
           when 'unavailable' then replace(replace(
               t.text, '{status}', replace(f.agent_status, '_', ' ')), '{agent}', coalesce(f.agent_name, ''))
           when 'escalated' then (
               select r.reason from recoveries r
               where r.kind = 'issue' and r.subject_id = f.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1)
           else t.text end as detail
from issue_facts f
cross join board_texts t
left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until);

-- The state of each issue in progress, and of those that sweep blocked.
create view issue_work_state as
select w.subject_id, w.tenant, d.identifier, d.title, w.agent_id, d.agent_name, w.state, d.detail, coalesce(w.since, d.idle_since) as since, true as in_progress
from issue_states w
left join issue_details d on d.subject_id = w.subject_id and d.reason = w.reason
union all
select e.subject_id, e.tenant, e.identifier, e.title, e.agent_id, e.agent_name, t.state, e.reason, e.since, false
from escalated_issues e
left join board_texts t on t.reason = 'escalated';

-- board/step/2026-11-24-001403_step_state
-- The facts and exemptions by which sweep decides.
create view step_decided_facts as
select f.*, e.reason as exemption, e.until as exemption_until, ea.reason as agent_exemption, ea.until as agent_exemption_until,
       et.reason as tenant_exemption, et.until as tenant_exemption_until,
       -- The agent of which people were told that it is gone or terminated, by what is open.
       (select r.agent_id from recoveries r where r.id = f.open_recovery_id and r.lost_agent) as lost_agent_id,
       -- take_step fills these in: whether it holds the subject, and the agent and the issue that it holds with it.
       false as held, cast(null as id) as held_agent_id, cast(null as id) as held_issue_id
from step_facts f
left join exemptions e on e.kind = 'step' and e.subject_id = f.subject_id
left join agent_exemptions ea on ea.agent_id = f.agent_id
left join tenant_exemptions et on et.tenant = f.tenant;


-- Why each plan step in progress is in its state.
create view step_reasons as
select f.subject_id, f.tenant, f.agent_id, f.plan_id, f.idle_since, f.open_recovery_action, f.pending_wake_since,
       case
            when f.has_live_run or f.run_heard_of_at >= strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.run_silent_after_seconds)) then 'live_run'
            when f.pending_wake_since between strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.wake_stuck_after_seconds))
                 and strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('+%f seconds', p.clock_ahead_max_seconds)) then 'pending_wake'
            when f.pending_wake_since is not null then 'stuck_wake'
            when strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', coalesce(f.stalled_after_seconds, p.step_stalled_after_seconds))) <= f.idle_since then 'recent'
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when f.agent_id is not null and f.agent_status is null then 'no_such_agent'
            when f.agent_id is not null and not f.agent_status in (select value from json_each(p.vocabulary, '$.wakeable')) then 'unavailable'
            when f.escalated then 'escalated'
            -- A subject that has used up its escalations of a day is left.
            when max(p.attempts_per_day_max, 1) <= f.escalations_last_day
                 and (f.agent_id is null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
            else 'stalled' end as reason
from step_subjects s
join step_facts f on f.subject_id = s.subject_id
left join policy p on true
left join exemptions e on e.kind = 'step' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until)
where true
limit -1;  -- has SQLite compute the view once, not once for each column that needs it

create view step_states as
select w.subject_id, w.tenant, w.agent_id, w.plan_id, w.reason,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since
           when w.reason = 'escalated' then coalesce((
               select r.created_at from recoveries r
               where r.kind = 'step' and r.subject_id = w.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1), w.idle_since)
           else w.idle_since end as since
from step_reasons w
left join board_texts t on t.reason = w.reason;

create view step_details as
select f.subject_id, t.reason, f.identifier, f.title, f.agent_name, f.idle_since,
       case t.reason
           
           when 'exempt' then coalesce(e.reason, ea.reason, et.reason)
           when 'unavailable' then replace(replace(
               t.text, '{status}', replace(f.agent_status, '_', ' ')), '{agent}', coalesce(f.agent_name, ''))
           when 'escalated' then (
               select r.reason from recoveries r
               where r.kind = 'step' and r.subject_id = f.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1)
           else t.text end as detail
from step_facts f
cross join board_texts t
left join exemptions e on e.kind = 'step' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until);

-- The state of each plan step in progress.
create view step_work_state as
select w.subject_id, w.tenant, d.identifier, d.title, w.agent_id, d.agent_name, w.state, d.detail, coalesce(w.since, d.idle_since) as since, w.plan_id
from step_states w
left join step_details d on d.subject_id = w.subject_id and d.reason = w.reason;

-- keep/both/2026-11-24-001409_over
-- The rows of sweep's own that are over: nothing rests upon them but the past. `at`: their place in the order in which sweeps look at them;
-- `over_since`: since when they are over. decisions.md#what-is-over

-- A subject's history goes as a whole: when it is not in progress, nothing about it is open, and nothing was recorded for long enough. So an
-- episode is never cut in two. What is not summed yet stays.
create view recoveries_over as
select r.id, r.created_at as at,
       (select max(o.created_at) from recoveries o where o.kind = r.kind and o.subject_id = r.subject_id) as over_since
from recoveries r
where r.settled_at is not null
  and r.created_at <= (select min(u.until) from upkeep u where u.task like 'sum%')
  and not exists (select 1 from recoveries o where o.kind = r.kind and o.subject_id = r.subject_id and o.settled_at is null)
  and not (case r.kind
      when 'issue' then exists (select 1 from issue_subjects s where s.subject_id = r.subject_id limit 1 offset 0)
      when 'step' then exists (select 1 from step_subjects s where s.subject_id = r.subject_id limit 1 offset 0)
      when 'session' then exists (select 1 from session_subjects s where s.subject_id = r.subject_id limit 1 offset 0)
      else false end);

-- A sweep of everything goes when ten later ones of its shard have succeeded: the last success, the latest sweep and the usual interval are
-- theirs. Of sweeps that found nothing to do the latest of each hour is enough after a day.
create view sweeps_over as
select s.id, s.started_at as at,
       case when s.idle and exists (
           select 1 from sweeps t
           where t.started_at > s.started_at and t.started_at < strftime('%Y-%m-%dT%H:%M:%fZ', s.started_at, printf('+%f seconds', 3600)) and substr(t.started_at, 1, 13) = substr(s.started_at, 1, 13)
             and t.idle and t.is_restricted = s.is_restricted and t.shards = s.shards and t.shard = s.shard
       ) then '1970-01-01T00:00:00.000Z' else s.started_at end as over_since
from sweeps s
where s.started_at < strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 86400))
  and (s.is_restricted or (
      select t.finished_at from sweeps t
      where t.succeeded and t.shards = s.shards and t.shard = s.shard and t.finished_at > s.started_at
      order by t.finished_at limit 1 offset 10) is not null);

-- A notification that says that something lasts stays as long as it does: people are not notified again. Of stuck wakes that is the latest that
-- has reached people. What a clock that was ahead has dated in the future does not count.
create view notifications_over as
select n.id, n.created_at as at, coalesce(n.delivered_at, n.dead_at) as over_since
from notifications n
where coalesce(n.delivered_at, n.dead_at) is not null
  and not case n.event
      when 'wakes_stuck' then n.delivered_at is not null and not exists (
          select 1 from notifications o
          where o.event = 'wakes_stuck' and o.destination = n.destination and o.part = n.part and o.created_at > n.created_at
            and o.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') and o.delivered_at is not null)
      when 'run_unheard' then n.subject_id in (select u.subject_id from unheard_runs u)
      when 'host_blocked' then exists (select 1 from issues i where i.id = n.subject_id and i.status = 'blocked')
      when 'unstarted' then exists (select 1 from issues i where i.id = n.subject_id and i.status = 'todo')
      else false end;
