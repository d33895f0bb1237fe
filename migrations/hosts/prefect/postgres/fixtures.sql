-- How `sweep host verify` makes Prefect's work: docs/hosts.md lists the blocks.

-- fixture agent
with flow as (
    insert into flow (name) values ('flow of ' || {{ agent }}) returning id
), pool as (
    insert into work_pool (name, type) values ('pool of ' || {{ agent }}, 'process') returning id
), queue as (
    insert into work_queue (name, work_pool_id) select 'default', id from pool returning id
)
insert into deployment (id, name, flow_id, work_queue_id, work_queue_name)
select {{ agent }}, 'nightly', flow.id, queue.id, 'default' from flow, queue;

-- fixture agent: paused
update deployment set paused = true where id = {{ agent }};

-- fixture issue
insert into flow_run (id, name, flow_id, deployment_id, work_queue_id, created, start_time, run_count, empirical_policy)
select {{ issue }}, 'busy-otter', flow_id, id, work_queue_id, {{ at }} - interval '3 seconds', {{ at }}, 1,
       '{"retries": 0, "resuming": false, "pause_keys": [], "retry_type": "in_process", "retry_delay": 0}'
from deployment where id = {{ agent }};
insert into flow_run_state (flow_run_id, type, name, timestamp) values
    ({{ issue }}, 'SCHEDULED', 'Scheduled', {{ at }} - interval '3 seconds'),
    ({{ issue }}, 'PENDING', 'Pending', {{ at }} - interval '1 second');
insert into flow_run_state (id, flow_run_id, type, name, timestamp) values ({{ id }}, {{ issue }}, 'RUNNING', 'Running', {{ at }});
update flow_run set state_id = {{ id }}, state_type = 'RUNNING', state_name = 'Running', state_timestamp = {{ at }} where id = {{ issue }};
insert into events (event, resource_id, occurred, received, recorded, resource, payload)
values ('prefect.flow-run.heartbeat', 'prefect.flow-run.' || {{ issue }}, {{ at }}, {{ at }}, {{ at }}, '{}', '{}');

-- fixture issue: at work
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'RUNNING', 'Running', greatest({{ at }}, max(timestamp) + interval '1 microsecond')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run f set state_id = s.id, state_type = s.type, state_name = s.name, state_timestamp = s.timestamp
from flow_run_state s where s.id = {{ id }} and f.id = {{ issue }};
insert into events (event, resource_id, occurred, received, recorded, resource, payload)
select 'prefect.flow-run.heartbeat', 'prefect.flow-run.' || {{ issue }}, at, at, at, '{}', '{}'
from (values ({{ at }}), (now())) as heartbeat (at);

-- fixture issue: stops
update flow_run_state set timestamp = {{ at }} - number * interval '1 microsecond'
from (select id as later, row_number() over (order by timestamp desc) as number from flow_run_state where flow_run_id = {{ issue }}) s
where id = later and timestamp > {{ at }} - number * interval '1 microsecond';
update flow_run set state_timestamp = least(state_timestamp, {{ at }}) where id = {{ issue }};
update events set occurred = least(occurred, {{ at }}) where resource_id = 'prefect.flow-run.' || {{ issue }};
update log set timestamp = least(timestamp, {{ at }}) where flow_run_id = {{ issue }};
update task_run set updated = least(updated, {{ at }}) where flow_run_id = {{ issue }};

-- fixture issue: dies
delete from events where resource_id = 'prefect.flow-run.' || {{ issue }} and occurred > {{ at }};

-- fixture issue: queued
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'SCHEDULED', 'AwaitingRetry', greatest({{ at }}, max(timestamp) + interval '1 microsecond')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run f
set state_id = s.id, state_type = s.type, state_name = s.name, state_timestamp = s.timestamp, next_scheduled_start_time = {{ at }}
from flow_run_state s where s.id = {{ id }} and f.id = {{ issue }};

-- fixture issue: wakes
select count(*) from flow_run f
where f.id = {{ issue }} and f.state_type = 'SCHEDULED' and f.next_scheduled_start_time <= now() and f.work_queue_id is not null
  and f.empirical_policy ->> 'retry_type' is distinct from 'in_process'

-- fixture issue: taken up
insert into flow_run_state (flow_run_id, type, name, timestamp)
select {{ issue }}, 'PENDING', 'Pending', greatest({{ at }}, max(timestamp) + interval '1 microsecond')
from flow_run_state where flow_run_id = {{ issue }};
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'RUNNING', 'Running', max(timestamp) + interval '1 microsecond'
from flow_run_state where flow_run_id = {{ issue }};
update flow_run f
set state_id = s.id, state_type = s.type, state_name = s.name, state_timestamp = s.timestamp, next_scheduled_start_time = null,
    run_count = run_count + 1
from flow_run_state s where s.id = {{ id }} and f.id = {{ issue }};
insert into events (event, resource_id, occurred, received, recorded, resource, payload)
select 'prefect.flow-run.heartbeat', 'prefect.flow-run.' || {{ issue }}, at, at, at, '{}', '{}'
from (values ({{ at }}), (now())) as heartbeat (at);

-- fixture issue: claimed
update flow_run_state set timestamp = {{ at }} - number * interval '1 microsecond'
from (select id as later, row_number() over (order by timestamp desc) as number from flow_run_state where flow_run_id = {{ issue }}) s
where id = later and timestamp > {{ at }} - number * interval '1 microsecond';
insert into flow_run_state (id, flow_run_id, type, name, timestamp) values ({{ id }}, {{ issue }}, 'PENDING', 'Pending', {{ at }});
update flow_run set state_id = {{ id }}, state_type = 'PENDING', state_name = 'Pending', state_timestamp = {{ at }} where id = {{ issue }};

-- fixture issue: finished
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'COMPLETED', 'Completed', greatest({{ at }}, max(timestamp) + interval '1 microsecond')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run f
set state_id = s.id, state_type = s.type, state_name = s.name, state_timestamp = s.timestamp, next_scheduled_start_time = null,
    end_time = s.timestamp
from flow_run_state s where s.id = {{ id }} and f.id = {{ issue }};

-- fixture issue: escalated
select s.message || a.data::text
from flow_run f join flow_run_state s on s.id = f.state_id join artifact a on a.flow_run_id = f.id
where f.id = {{ issue }} and f.state_type = 'CRASHED' and a.type = 'markdown'
limit 1

-- fixture issue: crowd
insert into flow_run (name, flow_id, deployment_id, work_queue_id, created, start_time, end_time, state_timestamp, state_type, state_name,
                      run_count)
select 'crowd-' || n, d.flow_id, d.id, d.work_queue_id, {{ at }}, {{ at }}, {{ at }}, {{ at }}, 'COMPLETED', 'Completed', 1
from deployment d, generate_series(1, {{ count }}) n where d.id = {{ agent }};
insert into flow_run_state (flow_run_id, type, name, timestamp)
select f.id, s.type::state_type, initcap(s.type), f.created + s.number * interval '1 millisecond'
from flow_run f, (values ('SCHEDULED', 1), ('PENDING', 2), ('RUNNING', 3), ('COMPLETED', 4)) s (type, number)
where f.deployment_id = {{ agent }} and f.state_type = 'COMPLETED' and f.state_id is null;
update flow_run f set state_id = s.id, state_timestamp = s.timestamp
from flow_run_state s where s.flow_run_id = f.id and s.type = 'COMPLETED' and f.deployment_id = {{ agent }} and f.state_id is null;
insert into events (event, resource_id, occurred, received, recorded, resource, payload)
select 'prefect.flow-run.heartbeat', 'prefect.flow-run.' || f.id, {{ at }}, {{ at }}, {{ at }}, '{}', '{}'
from flow_run f where f.deployment_id = {{ agent }} and f.state_type = 'COMPLETED';

-- fixture issue: left, its deployment is paused
update deployment set paused = true where id = (select deployment_id from flow_run where id = {{ issue }});

-- fixture issue: left, its work queue is paused
update work_queue set is_paused = true where id = (select work_queue_id from flow_run where id = {{ issue }});

-- fixture issue: left, its work pool is paused
update work_pool set is_paused = true
where id = (select q.work_pool_id from work_queue q join flow_run f on f.work_queue_id = q.id where f.id = {{ issue }});

-- fixture issue: left, it is paused
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'PAUSED', 'Paused', max(timestamp) + interval '1 microsecond'
from flow_run_state where flow_run_id = {{ issue }};
update flow_run f set state_id = s.id, state_type = s.type, state_name = s.name, state_timestamp = s.timestamp
from flow_run_state s where s.id = {{ id }} and f.id = {{ issue }};

-- fixture issue: left, it waits for input
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'PAUSED', 'Suspended', max(timestamp) + interval '1 microsecond'
from flow_run_state where flow_run_id = {{ issue }};
update flow_run f set state_id = s.id, state_type = s.type, state_name = s.name, state_timestamp = s.timestamp
from flow_run_state s where s.id = {{ id }} and f.id = {{ issue }};
insert into flow_run_input (key, value, flow_run_id) values ('keyset-' || {{ id }}, '{}', {{ issue }});

-- fixture issue: left, somebody cancels it
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'CANCELLING', 'Cancelling', max(timestamp) + interval '1 microsecond'
from flow_run_state where flow_run_id = {{ issue }};
update flow_run f set state_id = s.id, state_type = s.type, state_name = s.name, state_timestamp = s.timestamp
from flow_run_state s where s.id = {{ id }} and f.id = {{ issue }};

-- fixture issue: left, Prefect tries it again later
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'SCHEDULED', 'AwaitingRetry', max(timestamp) + interval '1 microsecond'
from flow_run_state where flow_run_id = {{ issue }};
update flow_run f
set state_id = s.id, state_type = s.type, state_name = s.name, state_timestamp = s.timestamp,
    next_scheduled_start_time = now() + interval '1 day'
from flow_run_state s where s.id = {{ id }} and f.id = {{ issue }};

-- fixture issue: left, its flow logs
insert into log (name, level, flow_run_id, message, timestamp) values ('flow', 20, {{ issue }}, 'so far', now());

-- fixture issue: left, one of its tasks goes on
insert into task_run (name, task_key, dynamic_key, flow_run_id, state_type, state_name)
values ('part', 'part', {{ id }}, {{ issue }}, 'RUNNING', 'Running');

-- fixture issue: also, it has no deployment
update flow_run set deployment_id = null, work_queue_id = null where id = {{ issue }};

-- fixture issue: also, it never sent a heartbeat
delete from events where resource_id = 'prefect.flow-run.' || {{ issue }};

-- fixture issue: also, its times are infinite
update flow_run set start_time = '-infinity', state_timestamp = '-infinity', next_scheduled_start_time = 'infinity' where id = {{ issue }};

-- fixture issue: also, its policy is no object
update flow_run set empirical_policy = '["?"]' where id = {{ issue }};
