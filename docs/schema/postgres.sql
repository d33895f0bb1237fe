-- postgres/2026-11-24-001000_ids
-- The type of the host's ids. sweep binds each id as text and casts it to this domain: decisions.md#ids
create domain id as uuid;

-- ledger/2026-11-24-001001_ledger
-- sweep's own tables, on every host: its sweeps, what they did about each subject, what operators said, what failed, and the
-- notifications for people. Each text has a bound, since a sweep reads all of them.

-- The host of this database, and which database it is. Only `sweep migrate` writes the row. decisions.md#a-recorded-host
create table host (
    only_row boolean primary key default true check (only_row),
    database_id uuid not null default gen_random_uuid(),
    name text check (length(name) <= 100) not null,
    files jsonb check (length(files::text) <= 1000000),  -- the text of each file of the host's folder; null: the host is built in
    made jsonb check (length(made::text) <= 1000000) not null  -- what stood after the migration, each with its definition
);

create table sweeps (
    id uuid primary key,
    host text check (length(host) <= 100) not null,
    version text check (length(version) <= 100) not null,
    started_at timestamptz check (started_at >= '0001-01-01Z' and started_at < '10000-01-01Z') not null default clock_timestamp(),
    finished_at timestamptz check (finished_at >= '0001-01-01Z' and finished_at < '10000-01-01Z'),  -- null: running, or killed before it could close
    ended          text check (ended in ('completed', 'interrupted', 'failed')),
    counts jsonb check (length(counts::text) <= 200000) not null default '{}',  -- outcomes by kind, as in the JSON report
    oldest_left_at timestamptz check (oldest_left_at >= '0001-01-01Z' and oldest_left_at < '10000-01-01Z'),  -- since when the oldest subject that was left has been idle
    exit_code      integer,  -- null: the sweep has not finished
    succeeded boolean not null default false,  -- the sweep examined everything and did all that it had to
    partial boolean not null default false,  -- the sweep did not examine everything: decisions.md#partial-sweeps
    policy jsonb check (length(policy::text) <= 100000) not null default '{}',  -- the settings by which the sweep decided
    shard          integer not null default 0,  -- which part of a sweep that several share, from 0 ...
    shards         integer not null default 1,  -- ... of how many
    is_restricted boolean not null default false,  -- its settings bound it to a part of the work; `partial` counts its deadline as well
    idle boolean not null default false  -- it found nothing to do
);
create index sweeps_started_at on sweeps (started_at);
-- The questions of every sweep must not cost more as sweeps and their ledger grow.
create index sweeps_whole on sweeps (finished_at) where not is_restricted and finished_at is not null;
create index sweeps_whole_by_shard on sweeps (shards, shard, finished_at) where not is_restricted and finished_at is not null;
create index sweeps_succeeded on sweeps (shards, shard, finished_at)
    where succeeded;

-- The ledger: one row for each attempt, escalation, recovery, handover and report of abandoned work, of all kinds of subject.
create table recoveries (
    id uuid primary key,
    sweep_id uuid not null,  -- no foreign key: sweeps may be pruned, and every worker would lock that row
    kind text check (length(kind) <= 100) not null,
    subject_id uuid check (length(subject_id::text) <= 1000) not null,
    action           text not null check (action in ('continue', 'escalate', 'recover', 'hand_over', 'abandon')),
    reason text check (length(reason) <= 10000) not null,
    episode_began_at timestamptz check (episode_began_at >= '0001-01-01Z' and episode_began_at < '10000-01-01Z') not null,
    attempt          integer not null check (attempt >= 0),
    wake_id uuid,
    agent_id uuid check (length(agent_id::text) <= 1000),  -- the subject's agent at that time; with its tenant, the exemptions that apply
    tenant text check (length(tenant) <= 1000),
    requested_by text check (length(requested_by) <= 200),  -- the person who asked for it by a command; null: a sweep did it
    blocked_subject boolean not null default false,  -- this escalation set the subject blocked
    lost_agent boolean not null default false,  -- people were told that the subject's agent is gone or terminated
    created_at timestamptz check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not null default clock_timestamp(),
    settled_at timestamptz check (settled_at >= '0001-01-01Z' and settled_at < '10000-01-01Z')  -- null: open, the last thing that sweep did, of which nothing has come yet
);
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
    day text check (length(day) <= 10) not null,  -- of UTC, such as 2026-11-24
    kind text check (length(kind) <= 100) not null,
    action text check (length(action) <= 100) not null,
    recorded bigint not null,  -- how many rows
    requested bigint not null,  -- how many of them a person asked for
    in_vain bigint not null,  -- how many of these continuations were false rescues
    primary key (day, kind, action)
);

-- How far each part of the upkeep of these tables has come, which sweeps do at their end.
create table upkeep (
    task text check (length(task) <= 100) not null primary key,
    until timestamptz check (until >= '0001-01-01Z' and until < '10000-01-01Z') not null,  -- it is done for all rows up to this time
    began_at timestamptz check (began_at >= '0001-01-01Z' and began_at < '10000-01-01Z') not null default clock_timestamp(),  -- when it began anew with the oldest row, of which more may be over now
    due_at timestamptz check (due_at >= '0001-01-01Z' and due_at < '10000-01-01Z') not null  -- when there may be something to do again
);
-- An hour after the tables were made a row may be old enough.
insert into upkeep (task, until, due_at)
values 
    ('sum_rows', '1970-01-01T00:00:00.000Z', statement_timestamp() + make_interval(secs => 3600)),
    ('sum_early_reports', '1970-01-01T00:00:00.000Z', statement_timestamp() + make_interval(secs => 3600)),
    ('sum_late_reports', '1970-01-01T00:00:00.000Z', statement_timestamp() + make_interval(secs => 3600)),
    ('remove_recoveries', '1970-01-01T00:00:00.000Z', statement_timestamp() + make_interval(secs => 3600)),
    ('remove_sweeps', '1970-01-01T00:00:00.000Z', statement_timestamp() + make_interval(secs => 3600)),
    ('remove_notifications', '1970-01-01T00:00:00.000Z', statement_timestamp() + make_interval(secs => 3600));

-- The policy that the views of the boards read: one row, into which each migration and each sweep of everything writes the limits of
-- src/rules/policy.rs, and the statuses, states and texts of src/rules/board.rs. So none of these stands in SQL.
create table policy (
    only_row boolean primary key default true check (only_row),
    orphan_grace_seconds float8 not null check (orphan_grace_seconds between 0 and 1e10),
    step_stalled_after_seconds float8 not null check (step_stalled_after_seconds between 0 and 1e10),
    session_silent_after_seconds float8 not null check (session_silent_after_seconds between 0 and 1e10),
    run_silent_after_seconds float8 not null check (run_silent_after_seconds between 0 and 1e10),
    wake_stuck_after_seconds float8 not null check (wake_stuck_after_seconds between 0 and 1e10),
    nudge_delay_seconds float8 not null check (nudge_delay_seconds between 0 and 1e10),
    clock_ahead_max_seconds float8 not null check (clock_ahead_max_seconds between 0 and 1e10),
    attempts_max bigint not null check (0 <= attempts_max),
    attempts_per_day_max bigint not null check (0 <= attempts_per_day_max),
    vocabulary jsonb check (length(vocabulary::text) <= 100000) not null check (jsonb_typeof(vocabulary) = 'object')
);

-- Operators declare here that work is in progress on purpose: one subject, or all work of an agent; of a tenant in the table below.
create table exemptions (
    kind text check (length(kind) <= 100) not null,  -- the kind of the subject, or agent
    subject_id uuid check (length(subject_id::text) <= 1000) not null,
    reason text check (length(reason) <= 2000) not null,
    until timestamptz check (until >= '0001-01-01Z' and until < '10000-01-01Z'),  -- when the exemption ends; null: when it is removed
    created_at timestamptz check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not null default clock_timestamp(),
    primary key (kind, subject_id)
);

create table tenant_exemptions (
    tenant text check (length(tenant) <= 1000) not null primary key,
    reason text check (length(reason) <= 2000) not null,
    until timestamptz check (until >= '0001-01-01Z' and until < '10000-01-01Z'),
    created_at timestamptz check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not null default clock_timestamp()
);

-- Failures of subjects. A subject that keeps failing is quarantined, and costs nothing any more.
create table failures (
    kind text check (length(kind) <= 100) not null,
    subject_id uuid check (length(subject_id::text) <= 1000) not null,
    sweeps         integer not null default 1,  -- how many sweeps in a row it failed; 0: the last one succeeded
    reason text check (length(reason) <= 1000) not null,  -- why it failed last
    last_at timestamptz check (last_at >= '0001-01-01Z' and last_at < '10000-01-01Z') not null default clock_timestamp(),
    quarantined_at timestamptz check (quarantined_at >= '0001-01-01Z' and quarantined_at < '10000-01-01Z'),  -- null: the subject is still examined
    primary key (kind, subject_id)
);

-- Notifications for people, each written in the transaction of the event that it reports.
create table notifications (
    id uuid primary key,  -- the key by which a receiver knows it again
    destination text check (length(destination) <= 100) not null,  -- slack, teams, email, pagerduty or webhook; only the configuration has the address
    event        text not null check (event in ('escalated', 'guard_stopped', 'quarantined', 'session_stuck', 'recovered', 'host_blocked', 'unstarted', 'wakes_stuck', 'run_unheard', 'abandoned')),
    kind text check (length(kind) <= 100) not null,
    part text check (length(part) <= 3000) not null default '',  -- the part of the kind that the guard holds back; '': the whole kind
    subject_id uuid check (length(subject_id::text) <= 1000),  -- null: the notification is about the whole kind
    sweep_id uuid not null,
    details jsonb check (length(details::text) <= 100000) not null,
    created_at timestamptz check (created_at >= '0001-01-01Z' and created_at < '10000-01-01Z') not null default clock_timestamp(),
    message_id uuid,  -- the message in which it is sent; null: it was not tried yet
    attempts     integer not null default 0,
    due_at timestamptz check (due_at >= '0001-01-01Z' and due_at < '10000-01-01Z') not null default clock_timestamp(),
    delivered_at timestamptz check (delivered_at >= '0001-01-01Z' and delivered_at < '10000-01-01Z'),
    dead_at timestamptz check (dead_at >= '0001-01-01Z' and dead_at < '10000-01-01Z'),  -- when its delivery was given up
    last_error text check (length(last_error) <= 10000)
);
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
select r.key as reason, r.value ->> 'state' as state, r.value ->> 'text' as text
from (select * from policy limit 1) p cross join jsonb_each(p.vocabulary -> 'reasons') r;

-- The ledger's open rows. A row in the future is the mistake of a clock: `since` is then the beginning of the episode that it names.
-- decisions.md#times-in-the-future
create view open_recoveries as
select r.id, r.kind, r.subject_id, r.action, r.blocked_subject,
       case when r.created_at > statement_timestamp() + make_interval(secs => coalesce((select clock_ahead_max_seconds from policy), 0))
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
    id uuid primary key default gen_random_uuid(),
    name text not null,
    status text not null default 'idle'
        check (status in ('active', 'idle', 'running', 'error', 'paused', 'pending_approval', 'terminated')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
    
);

create table issues (
    id uuid primary key default gen_random_uuid(),
    tenant text check (length(tenant) <= 200) not null default 'default',
    identifier text check (length(identifier) <= 200),  -- what people call it; unique in its tenant
    title text not null,
    status text not null default 'todo'
        check (status in ('backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled')),
    assignee_agent_id uuid references agents,
    assignee_user_id text,
    checkout_run_id uuid,  -- the run that holds the issue
    waiting_for text,  -- a declared wait: approval, question, blocker, ...
    wait_until timestamptz,  -- when the wait ends; null with waiting_for: until it is cleared
    unblock_action text,  -- what a person has to do while the issue is blocked
    started_at timestamptz,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (identifier, tenant)
    
);

-- Plans are ordered steps that an agent works through, or that a client pulls when the plan has no agent.
create table plans (
    id uuid primary key default gen_random_uuid(),
    tenant text check (length(tenant) <= 200) not null default 'default',
    title text not null,
    status text not null default 'draft'
        check (status in ('draft', 'executing', 'stalled', 'completed', 'failed', 'cancelled')),
    agent_id uuid references agents,  -- null: a client pulls the steps, and nobody can be woken
    issue_id uuid references issues,  -- where an escalation is written
    stalled_after_seconds integer check (stalled_after_seconds > 0),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
    
);

create table plan_steps (
    id uuid primary key default gen_random_uuid(),
    plan_id uuid references plans on delete cascade not null,
    position integer not null,
    title text not null,
    status text not null default 'pending'
        check (status in ('pending', 'in_progress', 'completed', 'skipped', 'failed')),
    stalled_after_seconds integer check (stalled_after_seconds > 0),
    started_at timestamptz,
    updated_at timestamptz not null default now(),
    unique (plan_id, position)
    
);

-- Wakes ask that an agent resume work, runs are the work.
create table wakes (
    id uuid primary key default gen_random_uuid(),
    agent_id uuid references agents not null,
    issue_id uuid references issues,
    plan_step_id uuid references plan_steps,
    reason text check (length(reason) <= 10000) not null,
    payload jsonb not null default '{}',
    status text not null default 'queued'
        check (status in ('queued', 'deferred', 'claimed', 'completed', 'skipped', 'failed', 'cancelled')),
    requested_by text check (length(requested_by) <= 10000) not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
    
);

-- The programs that run agents: a row for each start of one. Of the rows with one name the latest is at work; the programs of the others have ended.
create table workers (
    id uuid primary key default gen_random_uuid(),
    name text check (length(name) <= 200) not null,
    started_at timestamptz not null default now(),
    heartbeat_at timestamptz  -- a sign of life of each of its runs
);

create table runs (
    id uuid primary key default gen_random_uuid(),
    agent_id uuid references agents not null,
    issue_id uuid references issues,
    plan_step_id uuid references plan_steps,
    wake_id uuid references wakes,  -- the wake that started it
    retry_reason text,  -- issue_continuation_needed: a continuation, by sweep or the host
    status text not null default 'queued'
        check (status in ('queued', 'scheduled_retry', 'running', 'succeeded', 'interrupted', 'failed', 'cancelled', 'timed_out')),
    created_at timestamptz not null default now(),
    finished_at timestamptz,
    worker_id uuid references workers,  -- the start of the program that runs it
    heartbeat_at timestamptz,  -- its last sign of life
    lost text check (length(lost) <= 200),  -- how it is known that nobody is at work on it any more; null: that is not known
    lease_seconds integer check (lease_seconds > 0)  -- it is lost when no sign of life comes for so long; null: the policy says how long
    
);

-- A session is a process in which an agent works. Its supervisor, `sweep watch` or a host's own, keeps this row current and delivers
-- the commands that a sweep or a person writes.
create table sessions (
    id uuid primary key default gen_random_uuid(),
    tenant text check (length(tenant) <= 200) not null default 'default',
    identifier text check (length(identifier) <= 200) unique,  -- what people call it
    title text not null default '',  -- what runs in it
    directory text,  -- where it runs
    agent_id uuid references agents,  -- null: a person started it
    issue_id uuid references issues,  -- the issue that it works on, where an escalation is written
    status text not null default 'created'
        check (status in ('created', 'active', 'paused', 'terminated', 'interrupted')),
    stall_paused boolean not null default false,  -- sweeps leave the session alone
    started_at timestamptz,  -- when its present process was started
    last_activity_at timestamptz,  -- its last sign of life; null: started_at
    last_progress_at timestamptz,  -- its last step forward, no repetition; null: started_at
    last_tool text,
    recent_output text not null default '',  -- the last lines of its screen
    exit_code integer,  -- 128 + n after signal n; null: it runs, or nobody saw its end
    ended_at timestamptz,  -- null: its process runs
    silent_after_seconds integer check (silent_after_seconds > 0),
    takes_nudges boolean not null default true,  -- may something be typed into it now?
    agent_state text check (agent_state in ('working', 'idle', 'waiting', 'exhausted')),  -- null: unknown
    agent_state_kind text,  -- what the agent waits for (permission, trust, login, ...) or has run out of
    agent_state_since timestamptz,
    agent_question text,  -- the words with which the agent asks a person
    agent_state_evidence text,  -- how the state is known
    resumes_at timestamptz,  -- when the agent's quota is filled again
    watcher text,  -- the settings of the watcher that examines the session, as JSON
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
    
    
);

create table session_commands (
    id uuid primary key default gen_random_uuid(),
    session_id uuid references sessions on delete cascade not null,
    command text not null check (command in ('nudge', 'relaunch')),
    message text check (length(message) <= 10000),  -- what a nudge types
    status text not null default 'queued' check (status in ('queued', 'delivered', 'failed')),
    requested_by text check (length(requested_by) <= 10000) not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
    
);

-- The comments on issues, for people.
create table comments (
    id uuid primary key default gen_random_uuid(),
    issue_id uuid references issues not null,
    author text not null,
    body text not null,
    created_at timestamptz not null default now()
);

create table activity (
    id bigint generated always as identity primary key,
    actor text not null,
    action text not null,
    entity_type text not null,
    entity_id text not null,
    details jsonb not null default '{}',
    created_at timestamptz not null default now()
);

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
where exists (select 1 from workers n where n.name = w.name and n.started_at > w.started_at and n.started_at <= statement_timestamp());

-- The watchers that examine sessions besides sweeps.
create view session_watchers as
select id as subject_id, watcher, updated_at as heard_of_at from sessions where status = 'active' and watcher is not null;

-- The constants of this host: one row.
create view host_behavior as
select cast(0.5 as float8) as run_end_grace_seconds,  -- how long the host has to say what follows the end of a run
       'set it to in progress or todo' as resume_advice;  -- how a person resumes a blocked issue

-- hosts/native/postgres/2026-11-24-001102_triggers
alter table issues add foreign key (checkout_run_id) references runs;

-- Copies each row of the ledger into the host's activity log: decisions.md#the-activity-log
create function log_recovery() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    insert into activity (actor, action, entity_type, entity_id, details)
    values ('sweep', new.kind || '.' || new.action, new.kind, new.subject_id::text,
            jsonb_build_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id));
    return null;
end $$;
create trigger log_recovery after insert on recoveries for each row execute function log_recovery();

-- What is continued or escalated has no live run: those whose status still says that they are live are lost. They are closed in the same
-- transaction, so that an old process that lives after all finds its run taken. A sweep locks all runs of a subject before it reads its facts, and
-- gives way if somebody holds one: a sign of life that came before the lock is seen, and one that comes after it waits and finds its run taken.
-- The trigger asks for the evidence once more: a run may have begun since, and a row of the ledger alone ends no run.
create view run_locks as select id from runs;

create function lock_runs(of_kind text, of_subject uuid) returns boolean language plpgsql as $$
declare
    locked bigint;
begin
    perform from run_locks where id in (select s.id from subject_runs s where s.kind = of_kind and s.subject_id = of_subject)
    for no key update skip locked;
    get diagnostics locked = row_count;
    return locked = (select count(distinct s.id) from subject_runs s where s.kind = of_kind and s.subject_id = of_subject);
end $$;
comment on function lock_runs is 'called by sweeps';

create function close_lost_runs() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update runs set status = 'interrupted', finished_at = clock_timestamp()
    where id in (select r.id from subject_runs s join observed_runs r on r.id = s.id
                 where s.kind = new.kind and s.subject_id = new.subject_id
                   and (r.lost is not null
                        or r.lease_seconds is null and r.heartbeat_at < statement_timestamp() - make_interval(secs => coalesce(
                            (select (s.policy ->> 'run_silent_after_seconds')::double precision from sweeps s where s.id = new.sweep_id),
                            (select p.run_silent_after_seconds from policy p)))));
    return null;
end $$;
create trigger close_lost_runs after insert on recoveries for each row
when (new.kind in ('issue', 'step') and new.action in ('continue', 'escalate')) execute function close_lost_runs();

-- A sign of life of a worker is one of each of its runs, unless these have shown a later one.
create function pass_on_heartbeat() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    update runs set heartbeat_at = new.heartbeat_at
    where worker_id = new.id and status in ('queued', 'scheduled_retry', 'running') and (heartbeat_at < new.heartbeat_at) is not false;
    return null;
end $$;
create trigger pass_on_heartbeat after update of heartbeat_at on workers for each row when (new.heartbeat_at is not null)
execute function pass_on_heartbeat();

-- Notifies a daemon that listens when a run of an issue or a step has ended, or is lost.
create function notify_of_run_end() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', id::text) from unnest(array[new.issue_id, new.plan_step_id]) id where id is not null;
    return null;
end $$;
create trigger notify_of_run_end after update of status, lost on runs for each row
when (coalesce(new.issue_id, new.plan_step_id) is not null
      and old.status in ('queued', 'scheduled_retry', 'running')
      and (new.status not in ('queued', 'scheduled_retry', 'running') or old.lost is null and new.lost is not null))
execute function notify_of_run_end();

-- When a worker starts again, all runs of its earlier starts are lost.
create function notify_of_lost_runs() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', subject::text)
    from workers w join runs r on r.worker_id = w.id, unnest(array[r.issue_id, r.plan_step_id]) subject
    where w.name = new.name and w.started_at < new.started_at and r.status in ('queued', 'scheduled_retry', 'running') and subject is not null;
    return null;
end $$;
create trigger notify_of_lost_runs after insert on workers for each row execute function notify_of_lost_runs();

-- Without this, anybody could put one of these functions on a table of their own.
revoke execute on function log_recovery, lock_runs, close_lost_runs, pass_on_heartbeat, notify_of_run_end, notify_of_lost_runs from public;

-- facts/shared/both/2026-11-24-001350_observed_runs
-- The runs, with the evidence that one is lost whose status says that it is live. How long a run that holds no lease may be silent, Rust decides.
-- decisions.md#signs-of-life
create view observed_runs as
select r.id, r.agent_id, r.issue_id, r.plan_step_id, r.wake_id, r.retry_reason, r.status, r.created_at, r.finished_at,
       r.heartbeat_at, r.lease_seconds, r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id))
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds) end as is_live, case when r.status in ('queued', 'scheduled_retry', 'running') then case
            when r.lost is not null then substr(r.lost, 1, 200)
            when (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) then 'its worker has started again'
            when r.lease_seconds is not null and not coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds) then 'its lease has run out' end end as lost
from runs r;

-- facts/shared/postgres/2026-11-24-001351_runs_and_wakes
-- The runs that work on issues and steps, and the wakes that are on their way.

-- The runs of each issue. A continuation is a run that sweep or the host started to resume work; any other retry belongs to the
-- episode as well: decisions.md#a-retry-belongs-to-its-episode
-- The scalar subqueries are no `exists`, which PostgreSQL could plan as a hash of all wakes, built anew for every issue.
create view issue_runs as
select r.id, r.issue_id, r.wake_id, r.status, r.created_at, r.finished_at, r.retry_reason, coalesce(r.finished_at, case when r.lost is not null then coalesce(r.heartbeat_at, r.created_at) end) as ended_at, r.status in ('queued', 'scheduled_retry', 'running') as live,
       coalesce(r.finished_at, r.heartbeat_at, r.created_at) as last_sign_at,
       coalesce(r.retry_reason = 'issue_continuation_needed', false)
           or coalesce((select w.reason = 'issue_continuation_needed' from wakes w where w.id = r.wake_id and w.issue_id = r.issue_id), false) as is_continuation,
       coalesce((select w.requested_by = 'sweep' from wakes w where w.id = r.wake_id and w.issue_id = r.issue_id), false) as is_ours
from observed_runs r
where r.issue_id is not null;

-- The wakes that are pending: neither served nor dropped. A wake whose run has ended, or was heard of, is served, whatever its status says: then
-- the run itself says whether somebody is at work. Nobody will take up the wake of a terminated agent: it is pending only while its run is live.
create view pending_wakes as
select w.id, w.issue_id, w.plan_step_id, w.created_at,
       'wake ' || left(w.id::text, 8) || ' (' || w.status || ', by ' || left(w.requested_by, 100) || ')'
           || coalesce(', its run ' || left(run.id::text, 8) || ' is ' || run.status, ', no run yet') as detail
from wakes w
join agents a on a.id = w.agent_id
left join lateral (
    -- The live run of the wake, or the latest: two queries, each by an index, however many runs the wake had.
    select * from (
        (select r.id, r.status, true as live from runs r where r.wake_id = w.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id))
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds) end order by r.created_at desc, r.id limit 1)
        union all
        (select r.id, r.status, false from runs r where r.wake_id = w.id order by r.created_at desc, r.id limit 1)
    ) r order by live desc limit 1
) run on true
where w.status in ('queued', 'deferred', 'claimed') and coalesce(run.live, a.status <> 'terminated');

-- The steps with runs that have not ended by their status, once for each: the run names the step, or a wake that names it started the run. The
-- run works on the plan's issue, too.
create view worked_steps as
select r.plan_step_id as id, r.id as run_id, r.is_live as has_live_run, case when r.lease_seconds is null and r.lost is null then r.heartbeat_at end as heard_of_at, 'run ' || substr(cast(r.id as text), 1, 8) || ' is lost: ' || r.lost as lost_run from observed_runs r
where r.plan_step_id is not null and r.status in ('queued', 'scheduled_retry', 'running')
union all
select w.plan_step_id, r.id, r.is_live, case when r.lease_seconds is null and r.lost is null then r.heartbeat_at end, 'run ' || substr(cast(r.id as text), 1, 8) || ' is lost: ' || r.lost from wakes w join observed_runs r on r.wake_id = w.id
where w.plan_step_id is not null and r.status in ('queued', 'scheduled_retry', 'running');

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
           and coalesce(w.issue_id in (select r.issue_id from runs r where r.issue_id is not null and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds))), false))
  and not (w.status = 'deferred'
           and coalesce(w.plan_step_id in (select r.plan_step_id from runs r where r.plan_step_id is not null and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds))), false));

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
       greatest(coalesce(r.began_at, coalesce(s.updated_at, i.updated_at)), coalesce(s.updated_at, i.updated_at)) as since
from (
    select r.id, r.agent_id, case when r.created_at <= statement_timestamp() + make_interval(secs => 86400) then r.created_at end as began_at,
           coalesce(r.issue_id, w.issue_id, (select i.id from issues i where i.id = p.issue_id and i.tenant = p.tenant)) as issue_id,
           case when s.status = 'in_progress' then s.id end as plan_step_id
    from observed_runs r
    left join wakes w on w.id = r.wake_id
    left join plan_steps s on s.id = coalesce(r.plan_step_id, w.plan_step_id)
    left join plans p on p.id = s.plan_id
    where r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > statement_timestamp() + make_interval(secs => 86400))
      and r.status in ('queued', 'scheduled_retry', 'running') and (r.status <> 'queued' or r.wake_id is null)
    union all
    select r.id, r.agent_id, case when r.created_at <= statement_timestamp() + make_interval(secs => 86400) then r.created_at end, i.id, null
    from issues i
    join observed_runs r on r.id = i.checkout_run_id
    where i.status = 'in_progress' and r.issue_id is null and r.wake_id is null and r.plan_step_id is null and r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > statement_timestamp() + make_interval(secs => 86400))
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
  and (c.status = 'queued' or c.status = 'delivered' and s.ended_at <= c.updated_at and c.updated_at > statement_timestamp() - make_interval(secs => 60));

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
            select r.* from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join lateral (
        select * from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 50) t) t
            cross join lateral (
        select * from runs r where r.plan_step_id = t.id and r.created_at < c.created_at order by r.created_at desc limit 10) r
            union all
            select * from (select r.* from runs r where c.kind = 'step' and r.plan_step_id = c.subject_id and r.created_at < c.created_at
                           order by r.created_at desc limit 100) r
            union all
            select r.* from (select w.id from wakes w where c.kind = 'step' and w.plan_step_id = c.subject_id and w.created_at < c.created_at
                             order by w.created_at desc limit 50) w
            cross join lateral (
        select * from runs r where r.wake_id = w.id and r.created_at < c.created_at order by r.created_at desc limit 2) r
        ) r
        where r.status = 'succeeded' and c.created_at < r.finished_at and not coalesce(r.wake_id = c.wake_id, false)
    ) as reported_at
    from recoveries c left join issues i on c.kind = 'issue' and i.id = c.subject_id
    where c.action = 'continue'
) c
where reported_at <= continued_at + make_interval(secs => 86400);

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
  and not exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds))
                  and (r.heartbeat_at is null or r.lease_seconds is not null or r.heartbeat_at > statement_timestamp() - make_interval(secs => 1)))
  -- The condition of issue_sessions; that view would read the issues once more.
  and not exists (select 1 from sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null
                  and s.tenant = i.tenant and (s.agent_id is null or s.agent_id = i.assignee_agent_id))
  and not (i.id in (select unnest(array(select w.issue_id from pending_wakes w where w.issue_id is not null and w.created_at > statement_timestamp() - make_interval(secs => 60) and w.created_at <= statement_timestamp()))));

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not (r.subject_id in (select unnest(array(select u.subject_id from unattended_issues u where u.subject_id is not null))));

-- facts/issue/postgres/2026-11-24-001354_issue_facts
-- The facts of an issue that decide. docs/host-reference.md explains every column.

-- The continuations that are on their way to an issue: its own wakes, those of the steps of its plans, and relaunches of its sessions.
-- decisions.md#linked-work
create view issue_continuations as
select w.issue_id, null::id as session_id, w.created_at, w.detail from pending_wakes w where w.issue_id is not null
union all
-- A plan's issue counts only if it is of the plan's tenant.
select i.id, null, w.created_at, w.detail
from issues i join plans p on p.issue_id = i.id and p.tenant = i.tenant
join plan_steps s on s.plan_id = p.id join pending_wakes w on w.plan_step_id = s.id
union all
select r.issue_id, r.session_id, r.created_at, 'the relaunch of session ' || left(r.session_id::text, 8) from issue_relaunches r;

-- The oldest continuation that is on its way to an issue.
create view issue_pending as
select c.issue_id, min(c.created_at) as created_at, (array_agg(c.detail order by c.created_at))[1] as detail
from issue_continuations c group by c.issue_id;

create view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    left(i.title, 1000) as title,
    i.status,
    i.assignee_agent_id as agent_id,
    left(a.name, 1000) as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    coalesce(unended.has_live_run, false)
        or exists (select from sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null
                   and s.tenant = i.tenant and (s.agent_id is null or s.agent_id = i.assignee_agent_id))
        as has_live_run,
    unended.heard_of_at as run_heard_of_at,
    unended.lost_run,
    pending.created_at as pending_wake_since,
    pending.detail as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > statement_timestamp(), true) then left(i.waiting_for, 1000)
         when i.wait_until > statement_timestamp() then coalesce('until ' || to_char(i.wait_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'for ever')
         when exists (select from sessions s where s.issue_id = i.id and s.status = 'paused' and s.ended_at is null
                   and s.tenant = i.tenant and (s.agent_id is null or s.agent_id = i.assignee_agent_id)) then 'its session is paused' end
        as declared_wait,
    null::text as obstacle,
    run.last_id as last_run_id,
    run.last_ended_at as last_run_ended_at,
    run.last_end as last_run_end,
    null::text as last_run_error,
    null::id as last_run_agent_id,
    null::text as host_plan,
    null::text as unreachable,
    null::text as unstarted,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    null::text as resume_commands,
    greatest(i.updated_at, run.last_sign_at,
        (select max(coalesce(r.finished_at, r.heartbeat_at, r.created_at))
         from plans p join plan_steps s on s.plan_id = p.id join runs r on r.plan_step_id = s.id
         where p.issue_id = i.id and p.tenant = i.tenant),
        -- Only the latest thousand sessions: for all of them PostgreSQL would read the whole table, for each issue.
        (select max(greatest(s.last_activity_at, s.ended_at))
         from (select * from sessions s where s.issue_id = i.id and s.tenant = i.tenant order by s.created_at desc limit 1000) s)
    ) as idle_since,
    episode.began_at as episode_began_at,
    continuation.since_episode - unserved.since_episode as attempts,
    unserved.since_episode as attempts_unserved,
    continuation.last_day as attempts_last_day,
    continuation.last_at as last_attempt_at,
    run.last_continuation_ended_at as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.since >= episode.began_at, false) as escalated,
    escalation.last_day as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from issues i
cross join host_behavior behavior
left join agents a on a.id = i.assignee_agent_id
left join issue_pending pending on pending.issue_id = i.id
left join lateral (
    select (array_agg(o.id))[1] as id, max(o.action) as action, bool_or(o.blocked_subject) as blocked_subject, max(o.since) as since
    from open_recoveries o where o.kind = 'issue' and o.subject_id = i.id and not (o.blocked_subject and i.status = 'blocked')
) o on true
-- One pass each over an issue's runs that have not ended, all its runs, its escalations and its continuations. The latest thousand runs tell enough.
left join lateral (
    select bool_or(r.is_live) as has_live_run, max(case when r.lease_seconds is null and r.lost is null then r.heartbeat_at end) as heard_of_at, max('run ' || substr(cast(r.id as text), 1, 8) || ' is lost: ' || r.lost) as lost_run
    from (
        select r.id from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running')
        union all
        select i.checkout_run_id
        union all
        select r.id from wakes w cross join lateral (
        select * from runs r where r.wake_id = w.id order by r.created_at desc, r.id limit 50) r
        where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
        union all
        select r.run_id from plans p join plan_steps s on s.plan_id = p.id cross join lateral (select * from worked_steps r where r.id = s.id offset 0) r
        where p.issue_id = i.id and p.tenant = i.tenant
    ) o cross join lateral (select * from observed_runs r where r.id = o.id and r.status in ('queued', 'scheduled_retry', 'running') offset 0) r
) unended on true
left join lateral (
    select (array_agg(r.id order by r.created_at desc, r.id))[1] as last_id,
           max(r.last_sign_at) as last_sign_at,
           max(r.finished_at) filter (where not r.live) as last_ended_at,
           (array_agg('run ' || left(r.id::text, 8) || ' ' || replace(r.status, '_', ' ') order by r.created_at desc, r.id)
               filter (where not r.live))[1] as last_end,
           max(r.ended_at) filter (where r.is_continuation or r.is_ours) as last_continuation_ended_at,
           max(r.created_at) filter (where r.retry_reason is null and not r.is_continuation and not r.is_ours) as last_own_at,
           -- The continuations that the host queued itself; the ledger counts sweep's own.
           array_agg(r.created_at) filter (
               where r.is_continuation
                 and not exists (select from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.wake_id = r.wake_id)
           ) as continued_at
    from (select * from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1000) r
) run on true
left join lateral (
    -- An escalation in the future is a clock's mistake and began no episode: decisions.md#times-in-the-future
    select max(e.created_at) filter (where e.created_at <= statement_timestamp()) as last_at,
           count(*) filter (where e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day
    from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
) escalation on true
cross join lateral (
    select greatest(coalesce(i.started_at, i.created_at), run.last_own_at, escalation.last_at) as began_at
) episode
-- Every continuation counts as an attempt, sweep's and the host's alike; the ledger's number outlives runs that the host prunes.
left join lateral (
    select greatest(count(*) filter (where c.created_at >= episode.began_at),
                    max(c.attempt) filter (where c.created_at >= episode.began_at)) as since_episode,
           count(*) filter (where c.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day,
           max(c.created_at) as last_at
    from (select r.created_at, r.attempt from recoveries r where r.kind = 'issue' and r.subject_id = i.id and r.action = 'continue'
          union all
          select unnest(run.continued_at), null) c
) continuation on true
left join lateral (
    select count(*) as since_episode from unserved_continuations c
    where c.kind = 'issue' and c.subject_id = i.id and c.created_at >= episode.began_at
) unserved on true;

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
  and not (s.id in (select unnest(array(select r.id from worked_steps r where (r.has_live_run or r.heard_of_at > statement_timestamp() - make_interval(secs => 1))))))
  and not (s.id in (select unnest(array(select w.plan_step_id from pending_wakes w where w.plan_step_id is not null and w.created_at > statement_timestamp() - make_interval(secs => 60) and w.created_at <= statement_timestamp()))));

create view step_candidates as
select subject_id, group_id, since, tenant from unattended_steps
union all
select s.id, coalesce(p.agent_id, p.id), coalesce(s.started_at, s.updated_at), p.tenant
from recoveries r join plan_steps s on s.id = r.subject_id join plans p on p.id = s.plan_id
where r.kind = 'step' and r.settled_at is null
  and not (r.subject_id in (select unnest(array(select u.subject_id from unattended_steps u where u.subject_id is not null))));

-- facts/step/postgres/2026-11-24-001356_step_facts
-- The facts of a plan step that decide. docs/host-reference.md explains every column.

create view step_facts as
select
    s.id as subject_id,
    p.tenant,
    left(p.title, 1000) || ' #' || s.position as identifier,
    left(s.title, 1000) as title,
    s.status,
    p.id as plan_id,
    p.status as plan_status,
    s.position,
    coalesce(s.stalled_after_seconds, p.stalled_after_seconds) as stalled_after_seconds,
    p.agent_id,
    left(a.name, 1000) as agent_name,
    a.status as agent_status,
    i.id as issue_id,
    coalesce(unended.has_live_run, false) as has_live_run,
    unended.heard_of_at as run_heard_of_at,
    unended.lost_run,
    pending.created_at as pending_wake_since,
    pending.detail as pending_wake,
    coalesce(s.started_at, s.updated_at) as idle_since,
    episode.began_at as episode_began_at,
    continuation.since_episode - unserved.since_episode as attempts,
    unserved.since_episode as attempts_unserved,
    continuation.last_day as attempts_last_day,
    continuation.last_at as last_attempt_at,
    (select max(coalesce(r.finished_at, case when r.lost is not null then coalesce(r.heartbeat_at, r.created_at) end)) from recoveries c join observed_runs r on r.wake_id = c.wake_id
     where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue') as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, false) as escalated,
    (select count(*) from recoveries e where e.kind = 'step' and e.subject_id = s.id and e.action = 'escalate'
     and e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from plan_steps s
join plans p on p.id = s.plan_id
left join agents a on a.id = p.agent_id
-- A plan's issue counts only if it is of the plan's tenant.
left join issues i on i.id = p.issue_id and i.tenant = p.tenant
left join lateral (
    select min(c.created_at) as created_at, (array_agg(c.detail order by c.created_at))[1] as detail
    from (
        select w.created_at, w.detail from pending_wakes w where w.plan_step_id = s.id
        union all
        -- A wake of the issue resumes the step as well: decisions.md#linked-work
        select w.created_at, w.detail from (
        select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') order by w.created_at limit 25) o
        cross join lateral (select * from pending_wakes w where w.id = o.id and w.issue_id = i.id offset 0) w
        union all select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') order by w.created_at desc limit 25) o
        cross join lateral (select * from pending_wakes w where w.id = o.id and w.issue_id = i.id offset 0) w
        union all select w.created_at, w.detail
        from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join lateral (
        select * from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 50) t) t
        cross join lateral (
        select * from wakes o where o.plan_step_id = t.id and o.status in ('queued', 'deferred', 'claimed') order by o.created_at desc limit 5) o
        cross join lateral (select * from pending_wakes w where w.id = o.id and w.plan_step_id = t.id offset 0) w
        -- The sessions that ended first, since a sweep relaunches these first.
        union all select c.created_at, 'the relaunch of session ' || substr(cast(o.id as text), 1, 8)
        from (
            select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null and o.status = 'active' and o.ended_at is not null order by o.ended_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null and o.status = 'active' and o.ended_at is null order by o.started_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id and o.status = 'active' and o.ended_at is not null order by o.ended_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id and o.status = 'active' and o.ended_at is null order by o.started_at limit 10) a_few
        ) o
        cross join lateral (
        select * from session_commands c where c.session_id = o.id and c.command = 'relaunch' order by c.created_at desc limit 5) c
        where c.status = 'queued' or c.status = 'delivered' and o.ended_at <= c.updated_at and c.updated_at > statement_timestamp() - make_interval(secs => 60)
        ) w
    ) c
) pending on true
left join lateral (
    select bool_or(r.has_live_run) as has_live_run, max(r.heard_of_at) as heard_of_at, max(r.lost_run) as lost_run
    from worked_steps r where r.id = s.id
) unended on true
left join lateral (
    select (array_agg(o.id))[1] as id, max(o.action) as action, bool_or(o.blocked_subject) as blocked_subject, max(o.since) as since
    from open_recoveries o where o.kind = 'step' and o.subject_id = s.id and true
) o on true
cross join lateral (
    select greatest(
        coalesce(s.started_at, s.updated_at),
        (select max(e.created_at) from recoveries e where e.kind = 'step' and e.subject_id = s.id and e.action = 'escalate'
         and e.created_at <= statement_timestamp())
    ) as began_at
) episode
left join lateral (
    select count(*) filter (where c.created_at >= episode.began_at) as since_episode,
           count(*) filter (where c.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day,
           max(c.created_at) as last_at
    from recoveries c where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue'
) continuation on true
left join lateral (
    select count(*) as since_episode from unserved_continuations c
    where c.kind = 'step' and c.subject_id = s.id and c.created_at >= episode.began_at
) unserved on true;

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
           else coalesce(s.last_progress_at, s.started_at, s.created_at) < statement_timestamp() - make_interval(secs => 1)
                or coalesce(s.last_progress_at, s.started_at, s.created_at) > statement_timestamp() + make_interval(secs => 86400)
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
select s.id as session_id, greatest(s.created_at, coalesce(
    (select max(e.created_at) from recoveries e
     where e.kind = 'session' and e.subject_id = s.id and e.action in ('escalate', 'recover', 'hand_over')
       and e.created_at <= statement_timestamp()), s.created_at)) as began_at
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
         when s.agent_state = 'exhausted' and s.resumes_at > statement_timestamp() - make_interval(secs => 60)
         then 'its agent''s quota is used up until ' || to_char(s.resumes_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC'
         when s.agent_id is not null and (i.assignee_user_id is not null or i.assignee_agent_id <> s.agent_id) then 'its issue is another''s now'
         when i.status in ('blocked', 'in_review') then 'its issue is ' || replace(i.status, '_', ' ')
         when i.waiting_for is not null and coalesce(i.wait_until > statement_timestamp(), true) then 'its issue waits: ' || substr(i.waiting_for, 1, 1000)
         when i.wait_until > statement_timestamp()
         then 'its issue waits ' || coalesce('until ' || to_char(i.wait_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'for ever') end
        as declared_wait,
    s.stall_paused,
    s.agent_id,
    substr(a.name, 1, 1000) as agent_name,
    a.status as agent_status,
    i.id as issue_id,
    i.status as issue_status,
    exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds)))
        or exists (select 1 from runs r where r.id = i.checkout_run_id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds)))
        -- The condition of issue_sessions, with nobody's and the assignee's sessions apart and in order, so that an index passes by all others.
        or (select o.id from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null
            and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 1) is not null
        or (select o.id from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id
            and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 1) is not null
        or (select t.id from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join lateral (
        select * from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 50) t) t
            where (select r.id from runs r where r.plan_step_id = t.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds)) limit 1) is not null
               or (select r.id from (select w.id from wakes w where w.plan_step_id = t.id order by w.created_at desc limit 5) w
                   cross join lateral (
        select * from runs r where r.wake_id = w.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null or r.worker_id is not null and exists (select 1 from former_workers w where w.id = r.worker_id)) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds)) order by r.created_at desc, r.id limit 1) r limit 1) is not null
            limit 1) is not null
        or (select p.id from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 1 offset 10) p where p.status in ('executing', 'stalled')) is not null
        or (select t.id from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join lateral (
        select * from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 1 offset 50) t) t where t.status = 'in_progress' limit 1) is not null
        as issue_has_live_run,
    (select min(w.created_at) from (
        select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') order by w.created_at limit 25) o
        cross join lateral (select * from pending_wakes w where w.id = o.id and w.issue_id = i.id offset 0) w
        union all select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') order by w.created_at desc limit 25) o
        cross join lateral (select * from pending_wakes w where w.id = o.id and w.issue_id = i.id offset 0) w
        union all select w.created_at, w.detail
        from (select t.id, t.status from (select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by (case p.status when 'executing' then 0 when 'stalled' then 0 else 1 end) limit 10) p cross join lateral (
        select * from plan_steps t where t.plan_id = p.id order by (case t.status when 'in_progress' then 0 when 'pending' then 1 else 2 end), t.position limit 50) t) t
        cross join lateral (
        select * from wakes o where o.plan_step_id = t.id and o.status in ('queued', 'deferred', 'claimed') order by o.created_at desc limit 5) o
        cross join lateral (select * from pending_wakes w where w.id = o.id and w.plan_step_id = t.id offset 0) w
        -- The sessions that ended first, since a sweep relaunches these first.
        union all select c.created_at, 'the relaunch of session ' || substr(cast(o.id as text), 1, 8)
        from (
            select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null and o.status = 'active' and o.ended_at is not null and o.id <> s.id order by o.ended_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id is null and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id and o.status = 'active' and o.ended_at is not null and o.id <> s.id order by o.ended_at limit 10) a_few
            union all select * from (select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id = i.assignee_agent_id and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 10) a_few
        ) o
        cross join lateral (
        select * from session_commands c where c.session_id = o.id and c.command = 'relaunch' order by c.created_at desc limit 5) c
        where c.status = 'queued' or c.status = 'delivered' and o.ended_at <= c.updated_at and c.updated_at > statement_timestamp() - make_interval(secs => 60)
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
    greatest(
        coalesce(s.started_at, s.created_at), coalesce(s.last_activity_at, s.started_at, s.created_at),
        coalesce(s.last_progress_at, s.started_at, s.created_at)
    ) as idle_since,
    episode.began_at as episode_began_at,
    (select count(*) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at >= episode.began_at) as attempts,
    (select count(*) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at between statement_timestamp() - make_interval(secs => 86400) and statement_timestamp()) as attempts_last_day,
    (select max(c.created_at) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue')
        as last_attempt_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, false) as escalated,
    (select count(*) from recoveries e where e.kind = 'session' and e.subject_id = s.id and e.action = 'escalate'
     and e.created_at between statement_timestamp() - make_interval(secs => 86400) and statement_timestamp()) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from sessions s
left join agents a on a.id = s.agent_id
-- A session's issue counts only if it is of the session's tenant.
left join issues i on i.id = s.issue_id and i.tenant = s.tenant
left join lateral (
    select (array_agg(o.id))[1] as id, max(o.action) as action, bool_or(o.blocked_subject) as blocked_subject, max(o.since) as since
    from open_recoveries o where o.kind = 'session' and o.subject_id = s.id and true
) o on true
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


create view session_outlines with (security_barrier) as
select s.subject_id, s.tenant, f.agent_id, f.agent_status, f.observed_at, f.issue_wake_since, f.pending_command_since, f.ended_at, f.reason
from session_subjects s
cross join lateral (
        select f.agent_id, f.agent_status, f.observed_at, f.issue_wake_since, f.pending_command_since, f.ended_at, case
            when f.declared_wait is not null then 'declared_wait'
            when f.observed_at - make_interval(secs => p.nudge_delay_seconds) <= f.pending_command_since then 'pending_command'
            when f.observed_at < f.ended_at then 'recent'
            when f.ended_at is not null and f.issue_has_live_run then 'live_run'
            when case when f.ended_at is not null then f.issue_wake_since end between f.observed_at - make_interval(secs => p.wake_stuck_after_seconds)
                 and f.observed_at + make_interval(secs => p.clock_ahead_max_seconds) then 'pending_wake'
            when case when f.ended_at is not null then f.issue_wake_since end is not null then 'stuck_wake'
            -- Only a sweep sees a loop or a question on a screen: the session is active until a sweep has escalated it, and escalated until
            -- a sweep sees that this has ended. decisions.md#a-looping-session-is-never-quiet
            when f.ended_at is null and not (f.idle_since < f.observed_at - make_interval(secs => coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end))
                   and (f.agent_state is null or not (p.vocabulary -> 'needs_person' ? f.agent_state) is true))
                 and not ((f.recent_output <> '' or f.agent_state is not null or f.reports_progress) and f.escalated) then 'recent' end as reason
        from (select * from session_facts f where f.subject_id = s.subject_id offset 0) f left join (select * from policy limit 1) p on true
        where (f.issue_status is null or not (p.vocabulary -> 'finished' ? f.issue_status) is true) offset 0
    ) f;


-- Why each session in progress is in its state.
create view session_reasons as
select o.subject_id, o.tenant, o.agent_id, o.issue_wake_since, o.pending_command_since, o.ended_at, f.idle_since, f.open_recovery_action,
       coalesce(o.reason, f.reason) as reason
from session_outlines o
left join exemptions e on e.kind = 'session' and e.subject_id = o.subject_id
                          and (e.until is null or o.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = o.agent_id and (ea.until is null or o.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = o.tenant and (et.until is null or o.observed_at < et.until)
left join lateral (
        select f.idle_since, f.open_recovery_action, case
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when o.agent_id is not null and o.agent_status is null then 'no_such_agent'
            when o.agent_id is not null and not (p.vocabulary -> 'wakeable' ? o.agent_status) is true then 'unavailable'
            when f.escalated and (case when f.reports_progress then f.progressed_at else f.idle_since end <= f.open_recovery_at or f.ended_at is null and not (f.idle_since < f.observed_at - make_interval(secs => coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end))
                   and (f.agent_state is null or not (p.vocabulary -> 'needs_person' ? f.agent_state) is true)))
                 or greatest(p.attempts_per_day_max, 1) <= f.escalations_last_day
            then case when f.ended_at is null then 'escalated'
                      when f.exit_code is null then 'escalated_crash_unseen'
                      else 'escalated_crash' end
            when f.ended_at is null then 'silent'
            when f.exit_code is null then 'crashed_unseen'
            else 'crashed' end as reason
        from (select * from session_facts f where f.subject_id = case when o.reason is null then o.subject_id end offset 0) f left join (select * from policy limit 1) p on true
        where true offset 0
    ) f on true;

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
left join lateral (
    select * from session_details d where d.subject_id = w.subject_id and d.reason = w.reason offset 0
) d on true;

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


-- The first step: a few reads of live runs and wakes answer for all issues in progress. The barrier protects no data: it has PostgreSQL compute
-- this view once, while a filter by tenant, agent or id still reaches the tables.
create view issue_outlines with (security_barrier) as
select f.subject_id, f.tenant, f.agent_id, f.agent_status, f.observed_at, f.pending_wake_since, case
            when f.has_live_run or f.run_heard_of_at >= f.observed_at - make_interval(secs => p.run_silent_after_seconds) then 'live_run'
            when f.pending_wake_since between f.observed_at - make_interval(secs => p.wake_stuck_after_seconds)
                 and f.observed_at + make_interval(secs => p.clock_ahead_max_seconds) then 'pending_wake'
            when f.pending_wake_since is not null then 'stuck_wake'
            when f.declared_wait is not null then 'declared_wait'
            when f.host_plan is not null then 'host_plan' end as reason
from issue_facts f
left join (select * from policy limit 1) p on true
where f.status = 'in_progress' and f.agent_id is not null and not f.assigned_to_user;


-- Why each issue in progress is in its state.
create view issue_reasons as
select o.subject_id, o.tenant, o.agent_id, o.pending_wake_since, f.idle_since, f.open_recovery_action,
       coalesce(o.reason, f.reason) as reason
from issue_outlines o
left join exemptions e on e.kind = 'issue' and e.subject_id = o.subject_id
                          and (e.until is null or o.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = o.agent_id and (ea.until is null or o.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = o.tenant and (et.until is null or o.observed_at < et.until)
left join lateral (
        select f.idle_since, f.open_recovery_action, case
            when f.observed_at - make_interval(secs => f.run_end_grace_seconds) <= f.last_run_ended_at then 'recent'
            when f.observed_at < f.episode_began_at
                 or f.lost_run is null and f.observed_at - make_interval(secs => p.orphan_grace_seconds) <= f.idle_since then 'recent'
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when o.agent_id is not null and o.agent_status is null and f.unreachable is null then 'no_such_agent'
            when o.agent_id is not null and not (p.vocabulary -> 'wakeable' ? o.agent_status) is true then 'unavailable'
            when f.obstacle is not null then 'obstacle'
            when f.escalated then 'escalated'
            -- A subject that has used up its escalations of a day is left.
            when greatest(p.attempts_per_day_max, 1) <= f.escalations_last_day
                 and (f.unreachable is not null or (
                     select p.attempts_max <= g.attempts or p.attempts_per_day_max <= g.attempts_last_day
                     from issue_facts g where g.subject_id = f.subject_id)) then 'escalated'
            else 'orphaned' end as reason
        from issue_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = case when o.reason is null then o.subject_id end and true offset 0
    ) f on true;

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
left join lateral (
    select * from issue_details d where d.subject_id = w.subject_id and d.reason = w.reason offset 0
) d on true
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


-- The first step: one read of the live runs answers for all steps in progress. The barrier has PostgreSQL compute this view once.
create view step_outlines with (security_barrier) as
select f.subject_id, f.tenant, f.agent_id, f.agent_status, f.observed_at, f.plan_id, case
            when f.has_live_run or f.run_heard_of_at >= f.observed_at - make_interval(secs => p.run_silent_after_seconds) then 'live_run' end as reason
from step_facts f
left join (select * from policy limit 1) p on true
where f.status = 'in_progress' and f.plan_status in ('executing', 'stalled');


-- Why each plan step in progress is in its state.
create view step_reasons as
select o.subject_id, o.tenant, o.agent_id, o.plan_id, f.idle_since, f.open_recovery_action, f.pending_wake_since,
       coalesce(o.reason, f.reason) as reason
from step_outlines o
left join exemptions e on e.kind = 'step' and e.subject_id = o.subject_id
                          and (e.until is null or o.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = o.agent_id and (ea.until is null or o.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = o.tenant and (et.until is null or o.observed_at < et.until)
left join lateral (
        select f.idle_since, f.open_recovery_action, f.pending_wake_since, case
            when f.pending_wake_since between f.observed_at - make_interval(secs => p.wake_stuck_after_seconds)
                 and f.observed_at + make_interval(secs => p.clock_ahead_max_seconds) then 'pending_wake'
            when f.pending_wake_since is not null then 'stuck_wake'
            when f.observed_at - make_interval(secs => coalesce(f.stalled_after_seconds, p.step_stalled_after_seconds)) <= f.idle_since then 'recent'
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when o.agent_id is not null and o.agent_status is null then 'no_such_agent'
            when o.agent_id is not null and not (p.vocabulary -> 'wakeable' ? o.agent_status) is true then 'unavailable'
            when f.escalated then 'escalated'
            -- A subject that has used up its escalations of a day is left.
            when greatest(p.attempts_per_day_max, 1) <= f.escalations_last_day
                 and (f.agent_id is null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
            else 'stalled' end as reason
        from step_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = case when o.reason is null then o.subject_id end and true offset 0
    ) f on true;

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
left join lateral (
    select * from step_details d where d.subject_id = w.subject_id and d.reason = w.reason offset 0
) d on true;

-- take/session/2026-11-24-001404_take_session
-- Locks the session with its agent, against a pause, and with its issue, so that a sweep of issues does not continue it as well.
create function take_session(wanted id) returns setof session_decided_facts language plpgsql as $$
#variable_conflict use_variable
declare
    agent id;
    issue id;
    is_held boolean;
    facts session_decided_facts;
begin
    select (select a.id from agents a where a.id = s.agent_id for share skip locked),
           (select i.id from issues i where i.id = s.issue_id for update skip locked) into agent, issue
    from sessions s where s.id = wanted for update of s skip locked;
    is_held := found;
    set local sweep.facts_of = 'one';
    select * into facts from session_decided_facts f where f.subject_id = wanted;
    if found then
        facts.held := is_held;
        facts.held_agent_id := agent;
        facts.held_issue_id := issue;
        return next facts;
    end if;
end $$;
revoke execute on function take_session from public;
comment on function take_session is 'called by sweeps';

-- take/issue/2026-11-24-001405_take_issue
-- Locks the issue with its agent, so that a pause and a wake exclude each other.
create function take_issue(wanted id) returns setof issue_decided_facts language plpgsql as $$
#variable_conflict use_variable
declare
    agent id;
    issue id;
    is_held boolean;
    facts issue_decided_facts;
begin
    select (select a.id from agents a where a.id = i.assignee_agent_id for share skip locked), null into agent, issue
    from issues i where i.id = wanted for update of i skip locked;
    is_held := found and lock_runs('issue', wanted);
    set local sweep.facts_of = 'one';
    select * into facts from issue_decided_facts f where f.subject_id = wanted;
    if found then
        facts.held := is_held;
        facts.held_agent_id := agent;
        facts.held_issue_id := issue;
        return next facts;
    end if;
end $$;
revoke execute on function take_issue from public;
comment on function take_issue is 'called by sweeps';

-- take/step/2026-11-24-001406_take_step
-- Locks the step with its plan, whose status may change, with its agent, against a pause, and with its issue:
-- decisions.md#linked-work
create function take_step(wanted id) returns setof step_decided_facts language plpgsql as $$
#variable_conflict use_variable
declare
    agent id;
    issue id;
    is_held boolean;
    facts step_decided_facts;
begin
    select (select a.id from agents a where a.id = p.agent_id for share skip locked),
           (select i.id from issues i where i.id = p.issue_id for update skip locked) into agent, issue
    from plan_steps s join plans p on p.id = s.plan_id where s.id = wanted
    for update of s skip locked for no key update of p skip locked;
    is_held := found and lock_runs('step', wanted);
    set local sweep.facts_of = 'one';
    select * into facts from step_decided_facts f where f.subject_id = wanted;
    if found then
        facts.held := is_held;
        facts.held_agent_id := agent;
        facts.held_issue_id := issue;
        return next facts;
    end if;
end $$;
revoke execute on function take_step from public;
comment on function take_step is 'called by sweeps';

-- take/all/2026-11-24-001407_locks
-- To lock a row, a role needs the right to update one of its columns, and is given that on the id. An update by this right could
-- rename the row, and a host's trigger may write more. So only a table's owner may make an update that changes the id, or nothing.
create function refuse_mere_update() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    if new.id = old.id and new *<> old
       or (select relkind <> 'v' and pg_has_role(current_user, relowner, 'usage') from pg_class where oid = tg_relid) then
        return new;
    end if;
    raise exception 'this right on % is there to lock the row %', tg_table_name, old.id using errcode = 'insufficient_privilege';
end $$;
revoke execute on function refuse_mere_update from public;

-- Triggers run in the order of their names, and this name begins with the first printable sign. A host's view without a trigger for updates
-- is updated without this one; the views agents and run_locks are never updated.
do $$
declare
    name text;
    kind "char";
begin
    for name, kind in
        select relname, relkind from pg_class c
        where relnamespace = 'sweep'::regnamespace
          and (relkind in ('r', 'p') and relname in ('agents', 'issues', 'plan_steps', 'sessions')
               or relkind = 'v' and (relname in ('agents', 'run_locks') or relname in ('issues', 'plan_steps', 'sessions') and exists (
                   select from pg_trigger where tgrelid = c.oid and tgtype & 16 > 0)))
    loop
        execute case when kind = 'v'
            then format('create trigger "!a_lock_is_no_update" instead of update on %I for each row execute function refuse_mere_update()', name)
            else format('create trigger "!a_lock_is_no_update" before update of id on %I for each row when (new.id is distinct from old.id) '
                        'execute function refuse_mere_update()', name) end;
    end loop;
end $$;

-- take/all/2026-11-24-001408_statistics
-- Has the server look at those of sweep's own tables that have changed since it last did: a plan that was made for empty tables compares each
-- open row with each. Nobody is waited for, and a host's tables are left alone. decisions.md#statistics-of-sweeps-own-tables
create function refresh_statistics() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    changed regclass;
begin
    for changed in
        select oid from pg_class
        where relnamespace = 'sweep'::regnamespace and relkind = 'r'
          and pg_stat_get_mod_since_analyze(oid) >= least(1000 + greatest(reltuples, 0) / 10, 10000)
    loop
        execute format('analyze (skip_locked) %s', changed);
    end loop;
-- A managed server may deny the function that counts the changes.
exception when insufficient_privilege then null;
end $$;
revoke execute on function refresh_statistics from public;
comment on function refresh_statistics is 'called by sweeps';

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
           where t.started_at > s.started_at and t.started_at < s.started_at + make_interval(secs => 3600) and date_trunc('hour', t.started_at at time zone 'UTC') = date_trunc('hour', s.started_at at time zone 'UTC')
             and t.idle and t.is_restricted = s.is_restricted and t.shards = s.shards and t.shard = s.shard
       ) then '1970-01-01T00:00:00.000Z' else s.started_at end as over_since
from sweeps s
where s.started_at < statement_timestamp() - make_interval(secs => 86400)
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
            and o.created_at <= statement_timestamp() and o.delivered_at is not null)
      when 'run_unheard' then n.subject_id in (select u.subject_id from unheard_runs u)
      when 'host_blocked' then exists (select 1 from issues i where i.id = n.subject_id and i.status = 'blocked')
      when 'unstarted' then exists (select 1 from issues i where i.id = n.subject_id and i.status = 'todo')
      else false end;

-- keep/postgres/2026-11-24-001410_removal
-- Removes what is over. It runs with the right of its owner, so a role that sweeps can delete nothing else, whatever it asks for.
create function remove_over(relation text, after timestamptz, until timestamptz, over_before timestamptz) returns void
language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    if relation not in ('recoveries', 'sweeps', 'notifications') then
        raise exception 'rows of % are not removed: expected recoveries, sweeps or notifications', relation;
    end if;
    execute format('delete from %1$I where id in (select id from %2$I where at > $1 and at <= $2 and over_since < $3)',
                   relation, relation || '_over')
    using after, until, least(over_before, now() - interval '7 days');
end $$;
revoke execute on function remove_over from public;
comment on function remove_over is 'called by upkeep';
