-- ledger/2026-11-24-001001_ledger
-- sweep's own tables, on every host: its sweeps, what they did about each subject, what operators said, what failed, and the
-- notifications for people. Each text has a bound, since a sweep reads all of them.

-- The host of this database, and which database it is. Only `sweep migrate` writes the row. decisions.md#a-recorded-host
create table sweep_host (
    only_row int check (only_row in (false, true)) primary key default true check (only_row),
    name text check (length(name) <= 100 and length(cast(name as blob)) <= 400) not null,
    files text check (files is null or json_valid(files) and length(files) <= 1000000 and length(cast(files as blob)) <= 4000000),  -- the text of each file of the host's folder; null: the host is built in
    made text check (made is null or json_valid(made) and length(made) <= 1000000 and length(cast(made as blob)) <= 4000000) not null  -- what stood after the migration, each with its definition
) strict;

create table sweep_sweeps (
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
create index sweep_sweeps_started_at on sweep_sweeps (started_at);
-- The questions of every sweep must not cost more as sweeps and their ledger grow.
create index sweep_sweeps_whole on sweep_sweeps (finished_at) where not is_restricted and finished_at is not null;
create index sweep_sweeps_whole_by_shard on sweep_sweeps (shards, shard, finished_at) where not is_restricted and finished_at is not null;
create index sweep_sweeps_succeeded on sweep_sweeps (shards, shard, finished_at)
    where succeeded;

-- The ledger: one row for each attempt, escalation, recovery, handover and report of abandoned work, of all kinds of subject.
create table sweep_recoveries (
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
create unique index sweep_recoveries_once on sweep_recoveries (kind, subject_id, episode_began_at, action, attempt)
    where action not in ('recover', 'hand_over', 'abandon');
create unique index sweep_recoveries_open on sweep_recoveries (kind, subject_id) where settled_at is null;
create index sweep_recoveries_history on sweep_recoveries (kind, subject_id, created_at);
create index sweep_recoveries_by_wake on sweep_recoveries (kind, subject_id, wake_id) where wake_id is not null;
create index sweep_recoveries_blocking on sweep_recoveries (kind, created_at, subject_id) where settled_at is null and blocked_subject;
create index sweep_recoveries_by_tenant on sweep_recoveries (kind, tenant, created_at) where action not in ('recover', 'hand_over');
create index sweep_recoveries_created_at on sweep_recoveries (created_at);

-- What the ledger has recorded, summed by day: decisions.md#the-ledger-is-summed-once
create table sweep_ledger_days (
    day text check (length(day) <= 10 and length(cast(day as blob)) <= 40) not null,  -- of UTC, such as 2026-11-24
    kind text check (length(kind) <= 100 and length(cast(kind as blob)) <= 400) not null,
    action text check (length(action) <= 100 and length(cast(action as blob)) <= 400) not null,
    recorded integer not null,  -- how many rows
    requested integer not null,  -- how many of them a person asked for
    in_vain integer not null,  -- how many of these continuations were false rescues
    primary key (day, kind, action)
) strict;

-- How far each part of the upkeep of these tables has come, which sweeps do at their end.
create table sweep_upkeep (
    task text check (length(task) <= 100 and length(cast(task as blob)) <= 400) not null primary key,
    until text check (until is strftime('%Y-%m-%dT%H:%M:%fZ', until)) not null,  -- it is done for all rows up to this time
    began_at text check (began_at is strftime('%Y-%m-%dT%H:%M:%fZ', began_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),  -- when it began anew with the oldest row, of which more may be over now
    due_at text check (due_at is strftime('%Y-%m-%dT%H:%M:%fZ', due_at)) not null  -- when there may be something to do again
) strict;
-- An hour after the tables were made a row may be old enough.
insert into sweep_upkeep (task, until, due_at)
values 
    ('sum_rows', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('sum_early_reports', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('sum_late_reports', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('remove_recoveries', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('remove_sweeps', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600))),
    ('remove_notifications', '1970-01-01T00:00:00.000Z', strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 3600)));

-- The policy that the views of the boards read: one row, into which each migration and each sweep of everything writes the limits of
-- src/rules/policy.rs, and the statuses, states and texts of src/rules/board.rs. So none of these stands in SQL.
create table sweep_policy (
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
create table sweep_exemptions (
    kind text check (length(kind) <= 100 and length(cast(kind as blob)) <= 400) not null,  -- the kind of the subject, or agent
    subject_id text check (length(subject_id) <= 1000 and length(cast(subject_id as blob)) <= 4000) not null,
    reason text check (length(reason) <= 2000 and length(cast(reason as blob)) <= 8000) not null,
    until text check (until is strftime('%Y-%m-%dT%H:%M:%fZ', until)),  -- when the exemption ends; null: when it is removed
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    primary key (kind, subject_id)
) strict;

create table sweep_tenant_exemptions (
    tenant text check (length(tenant) <= 1000 and length(cast(tenant as blob)) <= 4000) not null primary key,
    reason text check (length(reason) <= 2000 and length(cast(reason as blob)) <= 8000) not null,
    until text check (until is strftime('%Y-%m-%dT%H:%M:%fZ', until)),
    created_at text check (created_at is strftime('%Y-%m-%dT%H:%M:%fZ', created_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) strict;

-- Failures of subjects. A subject that keeps failing is quarantined, and costs nothing any more.
create table sweep_failures (
    kind text check (length(kind) <= 100 and length(cast(kind as blob)) <= 400) not null,
    subject_id text check (length(subject_id) <= 1000 and length(cast(subject_id as blob)) <= 4000) not null,
    sweeps         integer not null default 1,  -- how many sweeps in a row it failed; 0: the last one succeeded
    reason text check (length(reason) <= 1000 and length(cast(reason as blob)) <= 4000) not null,  -- why it failed last
    last_at text check (last_at is strftime('%Y-%m-%dT%H:%M:%fZ', last_at)) not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    quarantined_at text check (quarantined_at is strftime('%Y-%m-%dT%H:%M:%fZ', quarantined_at)),  -- null: the subject is still examined
    primary key (kind, subject_id)
) strict;

-- Notifications for people, each written in the transaction of the event that it reports.
create table sweep_notifications (
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
create index sweep_notifications_created_at on sweep_notifications (created_at);
create index sweep_notifications_waiting on sweep_notifications (due_at) where delivered_at is null and dead_at is null;
create index sweep_notifications_message on sweep_notifications (message_id) where delivered_at is null and dead_at is null;
create index sweep_notifications_of_incident on sweep_notifications (destination, kind, part, subject_id, created_at);
create index sweep_notifications_dead on sweep_notifications (dead_at) where dead_at is not null;
create index sweep_notifications_of_guard on sweep_notifications (kind, destination, part, created_at) where event = 'guard_stopped';
create index sweep_notifications_of_wakes on sweep_notifications (destination, part, created_at, id) where event = 'wakes_stuck';

-- ledger_views/2026-11-24-001002_ledger_views
-- Views of the ledger for other views.

-- The reasons for a subject's state: the state that each means, and its text for people.
create temp view board_texts as
select r.key as reason, json_extract(r.value, '$.state') as state, json_extract(r.value, '$.text') as text
from policy p cross join json_each(p.vocabulary, '$.reasons') r;

-- The ledger's open rows. A row in the future is the mistake of a clock: `since` is then the beginning of the episode that it names.
-- decisions.md#times-in-the-future
create temp view open_recoveries as
select r.id, r.kind, r.subject_id, r.action, r.blocked_subject,
       case when r.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', coalesce((select clock_ahead_max_seconds from policy), 0)))
            then r.episode_began_at else r.created_at end as since
from recoveries r where r.settled_at is null;

-- What sweeps did, without what became of it. In the turns of a scan the tenant comes first for which nothing was done for the longest time.
create temp view interventions as
select kind, subject_id, tenant, created_at, settled_at from recoveries where action not in ('recover', 'hand_over');

-- The exemptions of agents.
create temp view agent_exemptions as
select subject_id as agent_id, reason, until from exemptions where kind = 'agent';

-- hosts/prefect/sqlite/2026-11-24-001251_work
-- Prefect's flow runs as issues, and its deployments as their agents, as in postgres/. Prefect's times are text in UTC, without a zone.

create temp view host_behavior as
select 0.0 as run_end_grace_seconds,
       'press Retry in Prefect''s UI, or run `prefect flow-run retry`. A run without a deployment is started anew where it was started'
           as resume_advice;

-- The work queues from which no worker takes runs, each with the reason.
create temp view paused_queues as
select q.id, case when q.is_paused then 'its work queue ' || substr(q.name, 1, 200) else 'its work pool ' || substr(p.name, 1, 200) end
           || ' is paused' as reason
from main.work_queue q join main.work_pool p on p.id = q.work_pool_id
where q.is_paused or p.is_paused;

-- Prefect's deployments. Subqueries in place of joins, so that a lock of an agent locks its deployment and nothing else.
create temp view agents as
select d.id,
       (select substr(f.name, 1, 500) from main.flow f where f.id = d.flow_id) || '/' || substr(d.name, 1, 499) as name,
       case when d.paused or exists (select 1 from paused_queues q where q.id = d.work_queue_id) then 'paused' else 'active' end as status
from main.deployment d;

-- The last two heartbeats of each flow run. A process sends one every three minutes, unless its operator chose another time; it may miss three,
-- and be silent for ten minutes. Without heartbeats (switched off, or an older Prefect) only its flow's log and its tasks show
-- that it lives, and a flow may be quiet for long.
create temp view heartbeats as
select f.id as flow_run_id,
       (select max(e.occurred) from main.events e
        where e.event = 'prefect.flow-run.heartbeat' and e.resource_id = 'prefect.flow-run.' || f.id) as last_at,
       (select e.occurred from main.events e
        where e.event = 'prefect.flow-run.heartbeat' and e.resource_id = 'prefect.flow-run.' || f.id
        order by e.occurred desc limit 1 offset 1) as one_before_at
from main.flow_run f;

-- The last sign of life of each flow run, and for how long its process may be silent. A value that is no time is no sign, and a flow run without
-- any sign is never called silent.
create temp view signs_of_life as
select f.id as flow_run_id,
       case when h.last_at is null then 3600
            else cast(min(max(3 * 86400 * coalesce(julianday(h.last_at) - julianday(h.one_before_at), 0), 600), 3600) as integer) end as lease_seconds,
       strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(nullif(max(
           coalesce(strftime('%Y-%m-%d %H:%M:%f', f.created), ''),
           coalesce(strftime('%Y-%m-%d %H:%M:%f', f.state_timestamp), ''),
           coalesce(strftime('%Y-%m-%d %H:%M:%f', h.last_at), ''),
           coalesce(strftime('%Y-%m-%d %H:%M:%f', (select max(l.timestamp) from main.log l where l.flow_run_id = f.id)), ''),
           coalesce(strftime('%Y-%m-%d %H:%M:%f', (select max(t.updated) from main.task_run t where t.flow_run_id = f.id)), '')
       ), ''), 'now')) as last_at
from main.flow_run f
join heartbeats h on h.flow_run_id = f.id;

create temp view issues as
select f.id,
       'default' as tenant,
       substr(f.name, 1, 1000) as identifier,
       (select substr(flow.name, 1, 500) from main.flow where flow.id = f.flow_id)
           || coalesce('/' || (select substr(d.name, 1, 499) from main.deployment d where d.id = f.deployment_id), '') as title,
       case when f.state_type in ('RUNNING', 'PAUSED') then 'in_progress'
            -- A flow run that was at work before, and is to be started again.
            when f.state_type in ('SCHEDULED', 'PENDING') and f.start_time is not null then 'in_progress'
            when f.state_type in ('SCHEDULED', 'PENDING') then 'todo'
            when f.state_type = 'COMPLETED' then 'done'
            -- A process that died unseen, or was found dead: a person has to look.
            when f.state_type = 'CRASHED' then 'blocked'
            else coalesce(lower(f.state_type), 'todo') end as status,
       -- A run without a deployment gets an agent that does not exist, and `unreachable` says why.
       coalesce(f.deployment_id, f.flow_id) as assignee_agent_id,
       null as assignee_user_id,
       null as checkout_run_id,
       null as unblock_action,
       case when f.state_type <> 'PAUSED' then null
            when exists (select 1 from main.flow_run_input i where i.flow_run_id = f.id)
                then 'input by a person, it is ' || substr(coalesce(f.state_name, f.state_type), 1, 100)
            else 'somebody resumes it, it is ' || substr(coalesce(f.state_name, f.state_type), 1, 100) end as waiting_for,
       null as wait_until,
       strftime('%Y-%m-%dT%H:%M:%fZ', f.start_time) as started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', f.created) as created_at,
       (select s.last_at from signs_of_life s where s.flow_run_id = f.id) as updated_at,
       -- A run's queue may be another than its deployment's.
       (select q.reason from paused_queues q where q.id = f.work_queue_id) as obstacle,
       case when f.state_type = 'SCHEDULED' and f.next_scheduled_start_time > strftime('%Y-%m-%d %H:%M:%f', 'now')
            then 'it is ' || substr(coalesce(f.state_name, f.state_type), 1, 100) || ', for ' || strftime('%Y-%m-%d %H:%M', f.next_scheduled_start_time) end as host_plan,
       case when f.deployment_id is not null then null
            when f.parent_task_run_id is not null then 'it is a subflow in another run''s process, and only that run can start it again'
            when f.work_queue_id is not null then 'its deployment was deleted, and no worker takes up a run without one'
            else 'it has no deployment: no worker takes it up' end as unreachable
from main.flow_run f;

-- The flow runs in progress, found by Prefect's index on the state; no index serves for the status above.
create temp view open_issues as
select i.* from main.flow_run f join issues i on i.id = f.id
where f.state_type in ('RUNNING', 'PAUSED', 'PENDING') or f.state_type = 'SCHEDULED' and f.start_time is not null;

-- hosts/prefect/sqlite/2026-11-24-001252_runs_and_wakes
-- The history of a flow run's states, as runs and wakes, as in postgres/.

-- A run of an issue is a stretch in which its flow run was RUNNING. Its id is that of the state before, which was its wake.
create temp view runs as
select a.id,
       coalesce(f.deployment_id, f.flow_id) as agent_id,
       a.flow_run_id as issue_id,
       a.id as wake_id,
       -- A state that follows RUNNING directly resumes it: Prefect's own retry of a flow that failed, or sweep's wake.
       case when before.type = 'RUNNING' then 'retry' end as retry_reason,
       case when f.state_id is not began.id then
                case coalesce(ended.type, f.state_type)
                    when 'COMPLETED' then 'succeeded' when 'FAILED' then 'failed' when 'CRASHED' then 'failed'
                    when 'CANCELLED' then 'cancelled' when 'CANCELLING' then 'cancelled' else 'interrupted' end
            else 'running' end as status,
       strftime('%Y-%m-%dT%H:%M:%fZ', began.timestamp) as created_at,
       case when f.state_id is not began.id then strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(ended.timestamp, f.state_timestamp)) end as finished_at,
       life.last_at as heartbeat_at,
       life.lease_seconds,
       null as lost
from main.flow_run_state a
join main.flow_run f on f.id = a.flow_run_id
join signs_of_life life on life.flow_run_id = f.id
left join main.flow_run_state before on before.id = (
    select s.id from main.flow_run_state s where s.flow_run_id = a.flow_run_id and s.timestamp < a.timestamp order by s.timestamp desc limit 1
)
join main.flow_run_state began on began.id = (
    select s.id from main.flow_run_state s
    where s.flow_run_id = a.flow_run_id and s.timestamp >= a.timestamp and s.type not in ('SCHEDULED', 'PENDING')
    order by s.timestamp limit 1
)
left join main.flow_run_state ended on ended.id = (
    select s.id from main.flow_run_state s where s.flow_run_id = a.flow_run_id and s.timestamp > began.timestamp order by s.timestamp limit 1
)
where a.type in ('SCHEDULED', 'PENDING', 'RUNNING') and coalesce(before.type not in ('SCHEDULED', 'PENDING'), 1) and began.type = 'RUNNING';

-- The wakes that sweep made: states whose ids the ledger has.
create temp view wakes as
select s.id, coalesce(f.deployment_id, f.flow_id) as agent_id, f.id as issue_id, 'issue_continuation_needed' as reason, '{}' as payload,
       'sweep' as requested_by, case when f.state_id = s.id then 'queued' else 'completed' end as status, r.created_at
from main.flow_run_state s
join main.flow_run f on f.id = s.flow_run_id
join recoveries r on r.kind = 'issue' and r.subject_id = f.id and r.wake_id = s.id;

-- Flow runs that are due and have not begun, whoever scheduled them. sweep's own view of pending wakes would read the history of all runs.
create temp view pending_wakes as
select f.state_id as id, f.id as issue_id,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', case f.state_type when 'SCHEDULED' then f.next_scheduled_start_time else f.state_timestamp end),
                strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as created_at,
       'it is ' || substr(coalesce(f.state_name, f.state_type), 1, 100)
           || coalesce(' in the work queue ' || (select substr(q.name, 1, 200) from main.work_queue q where q.id = f.work_queue_id), '') as detail
from main.flow_run f
where f.state_type = 'PENDING' or f.state_type = 'SCHEDULED' and f.next_scheduled_start_time <= strftime('%Y-%m-%d %H:%M:%f', 'now');

create temp view untaken_wakes as
select w.id, 'issue' as kind, i.id as subject_id, i.tenant, i.identifier as identifier, i.title, i.assignee_agent_id as agent_id,
       a.name as agent_name,
       case when i.obstacle is not null then 'paused' else coalesce(a.status, 'terminated') end as agent_status, w.created_at
from pending_wakes w
join issues i on i.id = w.issue_id
left join agents a on a.id = i.assignee_agent_id;

-- The times at which wakes were taken up, by Prefect's indexes on these columns; the history of states has no such index.
create temp view wake_pickups as
select f.state_id as wake_id, strftime('%Y-%m-%dT%H:%M:%fZ', f.start_time) as taken_at from main.flow_run f where f.start_time is not null
union all
select f.state_id, strftime('%Y-%m-%dT%H:%M:%fZ', f.state_timestamp) from main.flow_run f where f.state_type = 'RUNNING' and f.run_count > 1;

-- The flow runs that have ended, in this order: a row of a state is written once, and the number of the latest is the greatest. The `+`
-- has SQLite read by that number.
create temp view run_ends as
select s.rowid as id, s.flow_run_id as subject_id from main.flow_run_state s
where +s.type in ('COMPLETED', 'FAILED', 'CRASHED', 'CANCELLED');

-- An insert into this view moves a flow run into a state. The new state gets a time after all others, even if another machine's
-- clock is ahead.
create temp view entered_states as
select s.id, s.flow_run_id, s.type, s.name, s.message, s.state_details from main.flow_run_state s;

create temp trigger enter_state instead of insert on entered_states begin
    insert into flow_run_state (id, flow_run_id, type, name, timestamp, message, state_details)
    select new.id, new.flow_run_id, new.type, new.name,
           max(strftime('%Y-%m-%d %H:%M:%f000', 'now'), coalesce(strftime('%Y-%m-%d %H:%M:%f000', max(s.timestamp), '+0.001 seconds'), '')),
           new.message, new.state_details
    from flow_run_state s where s.flow_run_id = new.flow_run_id;
    update flow_run
    set state_id = new.id, state_type = new.type, state_name = new.name,
        state_timestamp = (select s.timestamp from flow_run_state s where s.id = new.id),
        updated = strftime('%Y-%m-%d %H:%M:%f000', 'now')
    where id = new.flow_run_id;
end;

-- Writes a wake as Prefect's own Retry does: a state that the workers of its queue poll for. The trigger examines the flow run again.
create temp trigger insert_wake instead of insert on wakes begin
    select raise(abort, 'the flow run is no longer as it was seen')
    where not exists (
        select 1 from issues i join agents a on a.id = i.assignee_agent_id join flow_run f on f.id = i.id
        where i.id = new.issue_id and a.id = new.agent_id and a.status = 'active' and f.state_type = 'RUNNING'
          and i.unreachable is null and i.obstacle is null
          and not exists (select 1 from observed_runs r where r.issue_id = i.id and r.status = 'running' and r.lost is null)
    );
    insert into entered_states
    values (new.id, new.issue_id, 'SCHEDULED', 'AwaitingRetry', 'sweep: nobody was at work on it any more, so it is started once more',
            json_object('flow_run_id', new.issue_id, 'scheduled_time', strftime('%Y-%m-%dT%H:%M:%fZ', 'now')));
    -- The policy of Prefect's own Retry: without it, workers leave the run to the process that was to try it again.
    update flow_run
    set next_scheduled_start_time = strftime('%Y-%m-%d %H:%M:%f000', 'now'),
        empirical_policy = case when json_valid(empirical_policy)
            then json_set(empirical_policy, '$.retry_type', 'reschedule', '$.resuming', json('false'), '$.pause_keys', json('[]'))
            else empirical_policy end
    where id = new.issue_id;
end;

-- Escalates a flow run: sets it CRASHED, and its timeline says what to do. That frees its place under the limits that count runs at
-- work, and a person can press Retry.
create temp trigger update_issue instead of update on issues when new.status = 'blocked' begin
    insert into entered_states
    -- A random uuid, as Prefect makes its ids.
    values (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a'
                  || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))),
            old.id, 'CRASHED', 'Crashed', 'sweep: this run needs a person. ' || substr(new.unblock_action, 1, 2000),
            json_object('flow_run_id', old.id));
    update flow_run set end_time = state_timestamp, next_scheduled_start_time = null where id = old.id;
end;

-- The artifacts of flow runs, which people read beside the states, as comments.
create temp view comments as
select a.id, a.flow_run_id as issue_id, 'somebody' as author, substr(case when json_valid(a.data) then a.data ->> '$' end, 1, 1000) as body
from main.artifact a where a.type = 'markdown' and a.flow_run_id is not null;

create temp trigger insert_comment instead of insert on comments begin
    insert into artifact (id, type, flow_run_id, description, data)
    values (new.id, 'markdown', new.issue_id, 'sweep: this run needs a person', json_quote(new.body));
end;

-- facts/shared/both/2026-11-24-001350_observed_runs
-- The runs, with the evidence that one is lost whose status says that it is live. How long a run that holds no lease may be silent, Rust decides.
-- decisions.md#signs-of-life
create temp view observed_runs as
select r.id, r.agent_id, r.issue_id, r.wake_id, r.retry_reason, r.status, r.created_at, r.finished_at,
       r.heartbeat_at, r.lease_seconds, r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null)
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end as is_live, case when r.status in ('queued', 'scheduled_retry', 'running') then case
            when r.lost is not null then substr(r.lost, 1, 200)
            when r.lease_seconds is not null and not coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) then 'its lease has run out' end end as lost
from runs r;

-- facts/shared/sqlite/2026-11-24-001351_runs_and_wakes
-- The runs that work on issues and steps, and the wakes that are on their way.

-- The runs of each issue. A continuation is a run that sweep or the host started to resume work; any other retry belongs to the
-- episode as well: decisions.md#a-retry-belongs-to-its-episode. An attempt is a continuation, or of any wake of sweep's.
create temp view issue_runs as
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
create temp view host_continuations as
select r.issue_id, r.created_at
from issue_runs r
where r.is_continuation
  and not exists (select 1 from recoveries c where c.kind = 'issue' and c.subject_id = r.issue_id and c.wake_id = r.wake_id);

-- facts/shared/both/2026-11-24-001352_shared_by_kinds
-- Views that the facts of all kinds share. docs/host-reference.md explains every column.

-- Runs at work that have never shown a sign of life, since when neither they nor their issue or step has shown one. A time that lies far in the
-- future is a clock's mistake. A session of the run's agent shows by itself whether it lives. A run works on the step and the issue that it names,
-- or else its wake, or on the issue that it holds, and on that of a step's plan: on the step, if that is in progress.
create temp view unheard_runs as
select
       r.id,
       case when i.id is not null then 'issue' end as kind,
       i.id as subject_id,
       coalesce(i.tenant, 'default') as tenant,
       i.identifier,
       substr(i.title, 1, 1000) as title,
       r.agent_id,
       substr(a.name, 1, 1000) as agent_name,
       coalesce(r.began_at, i.updated_at) as created_at,
       max(coalesce(r.began_at, i.updated_at), i.updated_at) as since
from (
    select r.id, r.agent_id, case when r.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400)) then r.created_at end as began_at,
           coalesce(r.issue_id, w.issue_id) as issue_id
    from observed_runs r
    left join wakes w on w.id = r.wake_id
    where r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400)))
      and r.status = 'running'
    union all
    select r.id, r.agent_id, case when r.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400)) then r.created_at end, i.id
    from issues i
    join observed_runs r on r.id = i.checkout_run_id
    where i.status = 'in_progress' and r.issue_id is null and r.wake_id is null and r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('+%f seconds', 86400)))
      and r.status = 'running'
) r
left join agents a on a.id = r.agent_id
left join issues i on i.id = r.issue_id
where i.status = 'in_progress';

-- sweep's wakes that were dropped, or whose agent was terminated, before any run: none of them is an attempt.
-- A scalar subquery is asked for each, by the wake's keys: joined, all wakes might be read.
create temp view unserved_continuations as
select c.kind, c.subject_id, c.created_at
from recoveries c
where c.action = 'continue' and (
    select w.id from wakes w join agents a on a.id = w.agent_id
    where w.id = c.wake_id and w.issue_id = c.subject_id
      and (w.status in ('cancelled', 'skipped') or a.status = 'terminated' and w.status in ('queued', 'deferred', 'claimed'))
      and not exists (select 1 from runs r where r.wake_id = w.id)
    limit 1
) is not null;

-- Continuations that were not needed: a run that had begun before the wake, and was not started by it, reported within a day, so its owner
-- was alive. Only success is a report, since others too fail, time out, interrupt or cancel a run. The latest of the earlier runs are read: all
-- of them for each continuation would cost the product of both numbers.
create temp view false_rescues as
select recovery_id, subject_id, kind, continued_at, reported_at
from (
    select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, (
        select min(r.finished_at)
        from (
            select * from (select r.* from runs r where r.issue_id = i.id and r.created_at < c.created_at order by r.created_at desc limit 100) r
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
create temp view issue_subjects as
select i.id as subject_id, i.assignee_agent_id as group_id, i.tenant from open_issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;

-- Issues in progress that an agent has, and on which at first sight nobody works. A wake hides its issue for a minute only:
-- decisions.md#a-wake-hides-its-issue-for-a-minute. The tenant is in the scan, so that one company can be
-- swept alone; the agent is the group, so that its oldest work is examined first however many workers there are.
create temp view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from open_issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)))
                  and (r.heartbeat_at is null or r.lease_seconds is not null or r.heartbeat_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 1))))
  and not (exists (select 1 from pending_wakes w where w.issue_id is not null and w.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', 60)) and w.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now') and w.issue_id = i.id));

create temp view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not (exists (select 1 from unattended_issues u where u.subject_id is not null and u.subject_id = r.subject_id));

-- facts/issue/sqlite/2026-11-24-001354_issue_facts
-- The facts of an issue that decide. docs/host-reference.md explains every column.

-- The oldest continuation that is on its way to an issue: its time, which has 24 characters, and then its description.
create temp view issue_pending as
select i.id as issue_id, (
    select min(oldest) from (
        -- The order is by a column of the result: by another, all wakes would be read where a host's are the two halves of a union.
        select oldest from (select * from (select w.created_at || w.detail as oldest, w.created_at from pending_wakes w where w.issue_id = i.id order by w.created_at limit 50) a_few)
    )
) as oldest
from issues i;

-- The beginning of each issue's episode. Without rows max() is null, and so is max(a, null); '' sorts before every timestamp instead.
create temp view issue_episodes as
select i.id as issue_id, max(
    coalesce(i.started_at, i.created_at),
    coalesce((select max(r.created_at) from issue_runs r where r.issue_id = i.id and r.retry_reason is null and not r.is_attempt), ''),
    coalesce((select max(e.created_at) from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
              -- An escalation in the future is a clock's mistake and began no episode: decisions.md#times-in-the-future
              and e.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), '')
) as began_at
from issues i;

create temp view issue_facts as
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
    exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null)
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end)
        or exists (select 1 from runs r where r.id = i.checkout_run_id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null)
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end)
        or exists (select 1 from wakes w join runs r on r.wake_id = w.id where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed') and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null)
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= strftime('%Y-%m-%dT%H:%M:%fZ', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), printf('-%f seconds', r.lease_seconds)) end)
        as has_live_run,
    (select max(case when r.lease_seconds is null and r.lost is null then r.heartbeat_at end) from (
        select r.id from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running')
        union all
        select i.checkout_run_id
        union all
        select r.id from wakes w join runs r on r.wake_id = w.id where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
    ) o cross join observed_runs r on r.id = o.id and r.status in ('queued', 'scheduled_retry', 'running')) as run_heard_of_at,
    (select max('run ' || substr(cast(r.id as text), 1, 8) || ' is lost: ' || r.lost) from (
        select r.id from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running')
        union all
        select i.checkout_run_id
        union all
        select r.id from wakes w join runs r on r.wake_id = w.id where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
    ) o cross join observed_runs r on r.id = o.id and r.status in ('queued', 'scheduled_retry', 'running')) as lost_run,
    substr(pending.oldest, 1, 24) as pending_wake_since,
    substr(pending.oldest, 25) as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 1) then substr(i.waiting_for, 1, 1000)
         when i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now') then coalesce('until ' || strftime('%Y-%m-%d %H:%M', i.wait_until), 'for ever') end
        as declared_wait,
    substr(i.obstacle, 1, 1000) as obstacle,
    (select r.id from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1) as last_run_id,
    (select max(r.finished_at) from issue_runs r where r.issue_id = i.id and not r.live) as last_run_ended_at,
    (select 'run ' || substr(r.id, 1, 8) || ' ' || replace(r.status, '_', ' ') from issue_runs r
     where r.issue_id = i.id and not r.live order by r.created_at desc, r.id limit 1) as last_run_end,
    cast(null as text) as last_run_error,
    cast(null as text) as last_run_agent_id,
    substr(i.host_plan, 1, 1000) as host_plan,
    substr(i.unreachable, 1, 1000) as unreachable,
    cast(null as text) as unstarted,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    cast(null as text) as resume_commands,
    max(
        i.updated_at,
        coalesce((select max(r.last_sign_at) from issue_runs r where r.issue_id = i.id), '')
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

-- board/agents/2026-11-24-001400_agent_names
-- The names of agents. A count by agent joins them last, since there may be very many rows.
create temp view agent_names as
select id as agent_id, substr(name, 1, 1000) as agent_name from agents;

-- board/issue/2026-11-24-001402_issue_state
-- The facts and exemptions by which sweep decides.
create temp view issue_decided_facts as
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
create temp view escalated_issues as
select r.subject_id, i.tenant, i.identifier, substr(i.title, 1, 1000) as title, i.assignee_agent_id as agent_id,
       substr(a.name, 1, 1000) as agent_name, r.reason, r.attempt, r.created_at as since,
       (select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = r.subject_id and c.action = 'continue')
           as last_attempt_at
from recoveries r
cross join issues i
left join agents a on a.id = i.assignee_agent_id
where i.id = r.subject_id and i.status = 'blocked' and r.kind = 'issue' and r.settled_at is null and r.blocked_subject;


-- Why each issue in progress is in its state.
create temp view issue_reasons as
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

create temp view issue_states as
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

create temp view issue_details as
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
create temp view issue_work_state as
select w.subject_id, w.tenant, d.identifier, d.title, w.agent_id, d.agent_name, w.state, d.detail, coalesce(w.since, d.idle_since) as since, true as in_progress
from issue_states w
left join issue_details d on d.subject_id = w.subject_id and d.reason = w.reason
union all
select e.subject_id, e.tenant, e.identifier, e.title, e.agent_id, e.agent_name, t.state, e.reason, e.since, false
from escalated_issues e
left join board_texts t on t.reason = 'escalated';

-- keep/both/2026-11-24-001409_over
-- The rows of sweep's own that are over: nothing rests upon them but the past. `at`: their place in the order in which sweeps look at them;
-- `over_since`: since when they are over. decisions.md#what-is-over

-- A subject's history goes as a whole: when it is not in progress, nothing about it is open, and nothing was recorded for long enough. So an
-- episode is never cut in two. What is not summed yet stays.
create temp view recoveries_over as
select r.id, r.created_at as at,
       (select max(o.created_at) from recoveries o where o.kind = r.kind and o.subject_id = r.subject_id) as over_since
from recoveries r
where r.settled_at is not null
  and r.created_at <= (select min(u.until) from upkeep u where u.task like 'sum%')
  and not exists (select 1 from recoveries o where o.kind = r.kind and o.subject_id = r.subject_id and o.settled_at is null)
  and not (case r.kind
      when 'issue' then exists (select 1 from issue_subjects s where s.subject_id = r.subject_id limit 1 offset 0)
      else false end);

-- A sweep of everything goes when ten later ones of its shard have succeeded: the last success, the latest sweep and the usual interval are
-- theirs. Of sweeps that found nothing to do the latest of each hour is enough after a day.
create temp view sweeps_over as
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
create temp view notifications_over as
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
