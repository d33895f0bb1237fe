-- Prefect's flow runs as issues, and its deployments as their agents, as in postgres/. Prefect's times are text in UTC, without a zone.

create view host_behavior as
select 0.0 as run_end_grace_seconds,
       'press Retry in Prefect''s UI, or run `prefect flow-run retry`. A run without a deployment is started anew where it was started'
           as resume_advice;

-- The work queues from which no worker takes runs, each with the reason.
create view paused_queues as
select q.id, case when q.is_paused then 'its work queue ' || substr(q.name, 1, 200) else 'its work pool ' || substr(p.name, 1, 200) end
           || ' is paused' as reason
from main.work_queue q join main.work_pool p on p.id = q.work_pool_id
where q.is_paused or p.is_paused;

-- Prefect's deployments. Subqueries in place of joins, so that a lock of an agent locks its deployment and nothing else.
create view agents as
select d.id,
       (select substr(f.name, 1, 500) from main.flow f where f.id = d.flow_id) || '/' || substr(d.name, 1, 499) as name,
       case when d.paused or exists (select 1 from paused_queues q where q.id = d.work_queue_id) then 'paused' else 'active' end as status
from main.deployment d;

-- The last two heartbeats of each flow run. A process sends one every three minutes, unless its operator chose another time; it may miss three,
-- and be silent for ten minutes. Without heartbeats (switched off, or an older Prefect) only its flow's log and its tasks show
-- that it lives, and a flow may be quiet for long.
create view heartbeats as
select f.id as flow_run_id,
       (select max(e.occurred) from main.events e
        where e.event = 'prefect.flow-run.heartbeat' and e.resource_id = 'prefect.flow-run.' || f.id) as last_at,
       (select e.occurred from main.events e
        where e.event = 'prefect.flow-run.heartbeat' and e.resource_id = 'prefect.flow-run.' || f.id
        order by e.occurred desc limit 1 offset 1) as one_before_at
from main.flow_run f;

-- The last sign of life of each flow run, and for how long its process may be silent. A value that is no time is no sign, and a flow run without
-- any sign is never called silent.
create view signs_of_life as
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

create view issues as
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
create view open_issues as
select i.* from main.flow_run f join issues i on i.id = f.id
where f.state_type in ('RUNNING', 'PAUSED', 'PENDING') or f.state_type = 'SCHEDULED' and f.start_time is not null;
