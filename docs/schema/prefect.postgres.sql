-- hosts/prefect/postgres/2026-11-24-001251_work
-- Prefect's flow runs as issues, and its deployments as their agents. docs/prefect.md says what each state of Prefect's becomes.

create view host_behavior as
select 0::float8 as run_end_grace_seconds,
       'press Retry in Prefect''s UI, or run `prefect flow-run retry`. A run without a deployment is started anew where it was started'
           as resume_advice;

-- The work queues from which no worker takes runs, each with the reason.
create view paused_queues as
select q.id, case when q.is_paused then 'its work queue ' || left(q.name, 200) else 'its work pool ' || left(p.name, 200) end
           || ' is paused' as reason
from public.work_queue q join public.work_pool p on p.id = q.work_pool_id
where q.is_paused or p.is_paused;

-- Prefect's deployments. Subqueries in place of joins, so that a lock of an agent locks its deployment and nothing else.
create view agents as
select d.id,
       (select left(f.name, 500) from public.flow f where f.id = d.flow_id) || '/' || left(d.name, 499) as name,
       case when d.paused or exists (select from paused_queues q where q.id = d.work_queue_id) then 'paused' else 'active' end as status
from public.deployment d;

-- The last sign of life of each flow run, and for how long its process may be silent. The process sends a heartbeat every three minutes, unless its
-- operator chose another time; it may miss three, and be silent for ten minutes. Without heartbeats (switched off, or an older Prefect) only
-- its flow's log and its tasks show that it lives, and a flow may be quiet for long.
create view signs_of_life as
select f.id as flow_run_id,
       case when heartbeat.at is null then 3600
            else least(greatest(3 * extract(epoch from heartbeat.every), 600), 3600) end::integer as lease_seconds,
       greatest(f.created, f.state_timestamp, heartbeat.at, tasks.last_at,
                (select max(l.timestamp) from public.log l where l.flow_run_id = f.id)) as last_at
from public.flow_run f
cross join lateral (
    -- The filter keeps PostgreSQL from looking for the maximum in the index by time, through the task runs of all flow runs.
    select max(t.updated) filter (where true) as last_at from public.task_run t where t.flow_run_id = f.id
) tasks
cross join lateral (
    select max(h.at) as at, max(h.at) - min(h.at) as every
    from (select e.occurred as at from public.events e
          where e.event = 'prefect.flow-run.heartbeat' and e.resource_id = 'prefect.flow-run.' || f.id::text
            -- Outside of these years two times may have no interval. A plain bound on the column would have PostgreSQL use its index.
            and extract(year from e.occurred) between 1 and 9999
          order by e.occurred desc limit 2) h
) heartbeat;

create view issues as
select f.id,
       'default'::text as tenant,
       -- An index of Prefect's bounds the length of this name.
       f.name as identifier,
       (select left(flow.name, 500) from public.flow where flow.id = f.flow_id)
           || coalesce('/' || (select left(d.name, 499) from public.deployment d where d.id = f.deployment_id), '') as title,
       case when f.state_type in ('RUNNING', 'PAUSED') then 'in_progress'
            -- A flow run that was at work before, and is to be started again.
            when f.state_type in ('SCHEDULED', 'PENDING') and f.start_time is not null then 'in_progress'
            when f.state_type in ('SCHEDULED', 'PENDING') then 'todo'
            when f.state_type = 'COMPLETED' then 'done'
            -- A process that died unseen, or was found dead: a person has to look.
            when f.state_type = 'CRASHED' then 'blocked'
            else coalesce(lower(f.state_type::text), 'todo') end as status,
       -- A run without a deployment gets an agent that does not exist, and `unreachable` says why.
       coalesce(f.deployment_id, f.flow_id) as assignee_agent_id,
       null::text as assignee_user_id,
       null::uuid as checkout_run_id,
       null::text as unblock_action,
       case when f.state_type <> 'PAUSED' then null
            when exists (select from public.flow_run_input i where i.flow_run_id = f.id)
                then 'input by a person, it is ' || left(coalesce(f.state_name, f.state_type::text), 100)
            else 'somebody resumes it, it is ' || left(coalesce(f.state_name, f.state_type::text), 100) end as waiting_for,
       null::timestamptz as wait_until,
       f.start_time as started_at,
       f.created as created_at,
       (select s.last_at from signs_of_life s where s.flow_run_id = f.id) as updated_at,
       -- A run's queue may be another than its deployment's.
       (select q.reason from paused_queues q where q.id = f.work_queue_id) as obstacle,
       case when f.state_type = 'SCHEDULED' and f.next_scheduled_start_time > statement_timestamp()
            then 'it is ' || left(coalesce(f.state_name, f.state_type::text), 100) || ', for '
                 || coalesce(to_char(f.next_scheduled_start_time at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'ever') end
           as host_plan,
       case when f.deployment_id is not null then null
            when f.parent_task_run_id is not null then 'it is a subflow in another run''s process, and only that run can start it again'
            when f.work_queue_id is not null then 'its deployment was deleted, and no worker takes up a run without one'
            else 'it has no deployment: no worker takes it up' end as unreachable
from public.flow_run f;

-- The flow runs in progress, found by Prefect's index on the state; no index serves for the status above.
create view open_issues as
select i.* from public.flow_run f join issues i on i.id = f.id
where f.state_type in ('RUNNING', 'PAUSED', 'PENDING') or f.state_type = 'SCHEDULED' and f.start_time is not null;

-- hosts/prefect/postgres/2026-11-24-001252_runs_and_wakes
-- The history of a flow run's states, as runs and wakes. The states are read in their order, by Prefect's index on run and time.

-- A run of an issue is a stretch in which its flow run was RUNNING. Its id is that of the state before, which was its wake.
create view runs as
select a.id,
       coalesce(f.deployment_id, f.flow_id) as agent_id,
       a.flow_run_id as issue_id,
       a.id as wake_id,
       -- A state that follows RUNNING directly resumes it: Prefect's own retry of a flow that failed, or sweep's wake.
       case when before.type = 'RUNNING' then 'retry' end as retry_reason,
       case when f.state_id is distinct from began.id then
                case coalesce(ended.type, f.state_type)
                    when 'COMPLETED' then 'succeeded' when 'FAILED' then 'failed' when 'CRASHED' then 'failed'
                    when 'CANCELLED' then 'cancelled' when 'CANCELLING' then 'cancelled' else 'interrupted' end
            else 'running' end as status,
       began.timestamp as created_at,
       case when f.state_id is distinct from began.id then coalesce(ended.timestamp, f.state_timestamp) end as finished_at,
       life.last_at as heartbeat_at,
       life.lease_seconds,
       null::text as lost
from public.flow_run_state a
join public.flow_run f on f.id = a.flow_run_id
join signs_of_life life on life.flow_run_id = f.id
left join lateral (
    select s.type from public.flow_run_state s where s.flow_run_id = a.flow_run_id and s.timestamp < a.timestamp
    order by s.timestamp desc limit 1
) before on true
cross join lateral (
    select s.id, s.type, s.timestamp from public.flow_run_state s
    where s.flow_run_id = a.flow_run_id and s.timestamp >= a.timestamp and s.type not in ('SCHEDULED', 'PENDING')
    order by s.timestamp limit 1
) began
left join lateral (
    select s.type, s.timestamp from public.flow_run_state s where s.flow_run_id = a.flow_run_id and s.timestamp > began.timestamp
    order by s.timestamp limit 1
) ended on true
where a.type in ('SCHEDULED', 'PENDING', 'RUNNING') and before.type in ('SCHEDULED', 'PENDING') is not true and began.type = 'RUNNING';

-- The wakes that sweep made: states whose ids the ledger has.
create view wakes as
select s.id, coalesce(f.deployment_id, f.flow_id) as agent_id, f.id as issue_id, 'issue_continuation_needed' as reason, '{}'::jsonb as payload,
       'sweep' as requested_by, case when f.state_id = s.id then 'queued' else 'completed' end as status, r.created_at
from public.flow_run_state s
join public.flow_run f on f.id = s.flow_run_id
join recoveries r on r.kind = 'issue' and r.subject_id = f.id and r.wake_id = s.id;

-- Flow runs that are due and have not begun, whoever scheduled them. sweep's own view of pending wakes would read the history of all runs.
create view pending_wakes as
select f.state_id as id, f.id as issue_id,
       case f.state_type when 'SCHEDULED' then f.next_scheduled_start_time else f.state_timestamp end as created_at,
       'it is ' || left(coalesce(f.state_name, f.state_type::text), 100)
           || coalesce(' in the work queue ' || (select left(q.name, 200) from public.work_queue q where q.id = f.work_queue_id), '') as detail
from public.flow_run f
where f.state_type = 'PENDING' or f.state_type = 'SCHEDULED' and f.next_scheduled_start_time <= statement_timestamp();

create view untaken_wakes as
select w.id, 'issue' as kind, i.id as subject_id, i.tenant, i.identifier::text as identifier, i.title, i.assignee_agent_id as agent_id,
       a.name as agent_name,
       case when i.obstacle is not null then 'paused' else coalesce(a.status, 'terminated') end as agent_status, w.created_at
from pending_wakes w
join issues i on i.id = w.issue_id
left join agents a on a.id = i.assignee_agent_id;

-- The times at which wakes were taken up, by Prefect's indexes on these columns; the history of states has no such index.
create view wake_pickups as
select f.state_id as wake_id, f.start_time as taken_at from public.flow_run f where f.start_time is not null
union all
select f.state_id, f.state_timestamp from public.flow_run f where f.state_type = 'RUNNING' and f.run_count > 1;

-- Moves a flow run into a state. The new state gets a time after all others, even if another machine's clock is ahead.
-- decisions.md#times-in-the-future
create function enter_state(run uuid, state uuid, state_type public.state_type, state_name text, message text, details jsonb)
returns void language plpgsql security definer set search_path = sweep, pg_temp as $$
declare
    at timestamptz := greatest(clock_timestamp(),
        (select max(s.timestamp) + interval '1 microsecond' from public.flow_run_state s where s.flow_run_id = run));
begin
    insert into public.flow_run_state (id, flow_run_id, type, name, timestamp, message, state_details)
    values (state, run, state_type, state_name, at, message, jsonb_build_object('flow_run_id', run) || details);
    update public.flow_run f
    set state_id = state, state_type = enter_state.state_type, state_name = enter_state.state_name, state_timestamp = at,
        updated = clock_timestamp()
    where f.id = run;
end $$;

-- Writes a wake as Prefect's own Retry does: a state that the workers of its queue poll for. The trigger examines the flow run again; the
-- sweep has locked its row and its deployment's.
create function insert_wake() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    if not exists (
        select from issues i join agents a on a.id = i.assignee_agent_id join public.flow_run f on f.id = i.id
        where i.id = new.issue_id and a.id = new.agent_id and a.status = 'active' and f.state_type = 'RUNNING'
          and i.unreachable is null and i.obstacle is null
          and not exists (select from observed_runs r where r.issue_id = i.id and r.status = 'running' and r.lost is null)
    ) then
        raise exception 'flow run % is no longer as it was seen', new.issue_id using errcode = 'serialization_failure';
    end if;
    perform enter_state(new.issue_id, new.id, 'SCHEDULED', 'AwaitingRetry',
                        'sweep: nobody was at work on it any more, so it is started once more',
                        jsonb_build_object('scheduled_time', clock_timestamp()));
    -- The policy of Prefect's own Retry: without it, workers leave the run to the process that was to try it again.
    update public.flow_run
    set next_scheduled_start_time = clock_timestamp(),
        empirical_policy = empirical_policy || '{"retry_type": "reschedule", "resuming": false, "pause_keys": []}'
    where id = new.issue_id;
    return new;
-- The detail of this error would show the host's whole row to a role that may not read it.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger insert_wake instead of insert on wakes for each row execute function insert_wake();

-- Escalates a flow run: sets it CRASHED, and its timeline says what to do. That frees its place under the limits that count runs at
-- work, and a person can press Retry.
create function update_issue() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    if new.status is distinct from 'blocked' or old.status <> 'in_progress' then
        raise exception 'sweep sets a flow run crashed that was in progress, and nothing else';
    end if;
    perform enter_state(old.id, gen_random_uuid(), 'CRASHED', 'Crashed',
                        'sweep: this run needs a person. ' || left(new.unblock_action, 2000), '{}');
    update public.flow_run set end_time = state_timestamp, next_scheduled_start_time = null where id = old.id;
    return new;
-- The detail of this error would show the host's whole row to a role that may not read it.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger update_issue instead of update on issues for each row execute function update_issue();

-- The artifacts of flow runs, which people read beside the states, as comments.
create view comments as
select a.id, a.flow_run_id as issue_id, 'somebody' as author, left(a.data #>> '{}', 1000) as body
from public.artifact a where a.type = 'markdown' and a.flow_run_id is not null;

create function insert_comment() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    insert into public.artifact (id, type, flow_run_id, description, data)
    select new.id, 'markdown', f.id, 'sweep: this run needs a person', to_json(new.body) from public.flow_run f where f.id = new.issue_id;
    return case when found then new end;
end $$;
create trigger insert_comment instead of insert on comments for each row execute function insert_comment();

-- Without this, anybody could put one of these functions on a table of their own, and write with its owner's rights.
revoke execute on function enter_state, insert_wake, update_issue, insert_comment from public;

-- facts/shared/both/2026-11-24-001350_observed_runs
-- The runs, with the evidence that one is lost whose status says that it is live. How long a run that holds no lease may be silent, Rust decides.
-- decisions.md#signs-of-life
create view observed_runs as
select r.id, r.agent_id, r.issue_id, r.wake_id, r.retry_reason, r.status, r.created_at, r.finished_at,
       r.heartbeat_at, r.lease_seconds, r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null)
                and case when r.lease_seconds is null then r.heartbeat_at is null else coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds) end as is_live, case when r.status in ('queued', 'scheduled_retry', 'running') then case
            when r.lost is not null then substr(r.lost, 1, 200)
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

-- facts/shared/both/2026-11-24-001352_shared_by_kinds
-- Views that the facts of all kinds share. docs/host-reference.md explains every column.

-- Runs at work that have never shown a sign of life, since when neither they nor their issue or step has shown one. A time that lies far in the
-- future is a clock's mistake. A session of the run's agent shows by itself whether it lives. A run works on the step and the issue that it names,
-- or else its wake, or on the issue that it holds, and on that of a step's plan: on the step, if that is in progress.
create view unheard_runs as
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
       greatest(coalesce(r.began_at, i.updated_at), i.updated_at) as since
from (
    select r.id, r.agent_id, case when r.created_at <= statement_timestamp() + make_interval(secs => 86400) then r.created_at end as began_at,
           coalesce(r.issue_id, w.issue_id) as issue_id
    from observed_runs r
    left join wakes w on w.id = r.wake_id
    where r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > statement_timestamp() + make_interval(secs => 86400))
      and r.status = 'running'
    union all
    select r.id, r.agent_id, case when r.created_at <= statement_timestamp() + make_interval(secs => 86400) then r.created_at end, i.id
    from issues i
    join observed_runs r on r.id = i.checkout_run_id
    where i.status = 'in_progress' and r.issue_id is null and r.wake_id is null and r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > statement_timestamp() + make_interval(secs => 86400))
      and r.status = 'running'
) r
left join agents a on a.id = r.agent_id
left join issues i on i.id = r.issue_id
where i.status = 'in_progress';

-- sweep's wakes that were dropped, or whose agent was terminated, before any run: none of them is an attempt.
-- A scalar subquery is asked for each, by the wake's keys: joined, all wakes might be read.
create view unserved_continuations as
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
create view false_rescues as
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
where reported_at <= continued_at + make_interval(secs => 86400);

-- facts/issue/both/2026-11-24-001353_issue_candidates
-- The candidates among the issues.

-- The issues in progress, healthy or not. The candidates are a share of them.
create view issue_subjects as
select i.id as subject_id, i.assignee_agent_id as group_id, i.tenant from open_issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;

-- Issues in progress that an agent has, and on which at first sight nobody works. A wake hides its issue for a minute only:
-- decisions.md#a-wake-hides-its-issue-for-a-minute. The tenant is in the scan, so that one company can be
-- swept alone; the agent is the group, so that its oldest work is examined first however many workers there are.
create view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from open_issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running') and not (r.lost is not null) and (r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) >= statement_timestamp() - make_interval(secs => r.lease_seconds))
                  and (r.heartbeat_at is null or r.lease_seconds is not null or r.heartbeat_at > statement_timestamp() - make_interval(secs => 1)))
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
select w.issue_id, null::id as session_id, w.created_at, w.detail from pending_wakes w where w.issue_id is not null;

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
        as has_live_run,
    unended.heard_of_at as run_heard_of_at,
    unended.lost_run,
    pending.created_at as pending_wake_since,
    pending.detail as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > statement_timestamp(), true) then left(i.waiting_for, 1000)
         when i.wait_until > statement_timestamp() then coalesce('until ' || to_char(i.wait_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'for ever') end
        as declared_wait,
    left(i.obstacle, 1000) as obstacle,
    run.last_id as last_run_id,
    run.last_ended_at as last_run_ended_at,
    run.last_end as last_run_end,
    null::text as last_run_error,
    null::id as last_run_agent_id,
    left(i.host_plan, 1000) as host_plan,
    left(i.unreachable, 1000) as unreachable,
    null::text as unstarted,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    null::text as resume_commands,
    greatest(i.updated_at, run.last_sign_at
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


create view issue_outlines with (security_barrier) as
select s.subject_id, s.tenant, s.group_id as agent_id, f.agent_status, f.observed_at, f.reason
from issue_subjects s
cross join lateral (
        select f.agent_status, f.observed_at, case
            when f.has_live_run or f.run_heard_of_at >= f.observed_at - make_interval(secs => p.run_silent_after_seconds) then 'live_run' end as reason
        from issue_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = s.subject_id and true offset 0
    ) f;


-- Why each issue in progress is in its state.
create view issue_reasons as
select o.subject_id, o.tenant, o.agent_id, f.idle_since, f.open_recovery_action, f.pending_wake_since,
       coalesce(o.reason, f.reason) as reason
from issue_outlines o
left join exemptions e on e.kind = 'issue' and e.subject_id = o.subject_id
                          and (e.until is null or o.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = o.agent_id and (ea.until is null or o.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = o.tenant and (et.until is null or o.observed_at < et.until)
left join lateral (
        select f.idle_since, f.open_recovery_action, f.pending_wake_since, case
            when f.pending_wake_since between f.observed_at - make_interval(secs => p.wake_stuck_after_seconds)
                 and f.observed_at + make_interval(secs => p.clock_ahead_max_seconds) then 'pending_wake'
            when f.pending_wake_since is not null then 'stuck_wake'
            when f.declared_wait is not null then 'declared_wait'
            when f.host_plan is not null then 'host_plan'
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
                 and (f.unreachable is not null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
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
    is_held := found;
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
