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
