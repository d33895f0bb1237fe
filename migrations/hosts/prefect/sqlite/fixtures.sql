-- How `sweep host verify` makes Prefect's work, as in postgres/. {{ at }} is a text such as '2026-11-24T08:00:00.000Z'; Prefect's times have
-- a space, and no zone.

-- fixture agent
insert into flow (name) values ('flow of ' || {{ agent }});
insert into work_pool (name, type) values ('pool of ' || {{ agent }}, 'process');
insert into work_queue (name, work_pool_id) select 'default', id from work_pool where name = 'pool of ' || {{ agent }};
insert into deployment (id, name, flow_id, work_queue_id, work_queue_name)
select {{ agent }}, 'nightly', f.id, q.id, q.name
from flow f, work_queue q join work_pool p on p.id = q.work_pool_id
where f.name = 'flow of ' || {{ agent }} and p.name = 'pool of ' || {{ agent }};

-- fixture agent: paused
update deployment set paused = 1 where id = {{ agent }};

-- fixture issue
insert into flow_run (id, name, flow_id, deployment_id, work_queue_id, created, start_time, run_count, empirical_policy)
select {{ issue }}, 'busy-otter', flow_id, id, work_queue_id, strftime('%Y-%m-%d %H:%M:%f000', {{ at }}, '-3 seconds'), strftime('%Y-%m-%d %H:%M:%f000', {{ at }}), 1,
       '{"retries": 0, "resuming": false, "pause_keys": [], "retry_type": "in_process", "retry_delay": 0}'
from deployment where id = {{ agent }};
insert into flow_run_state (flow_run_id, type, name, timestamp) values
    ({{ issue }}, 'SCHEDULED', 'Scheduled', strftime('%Y-%m-%d %H:%M:%f000', {{ at }}, '-3 seconds')),
    ({{ issue }}, 'PENDING', 'Pending', strftime('%Y-%m-%d %H:%M:%f000', {{ at }}, '-1 second'));
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
values ({{ id }}, {{ issue }}, 'RUNNING', 'Running', strftime('%Y-%m-%d %H:%M:%f000', {{ at }}));
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }})
where id = {{ issue }};
insert into events (event, resource_id, occurred, received, recorded, resource, payload)
select 'prefect.flow-run.heartbeat', 'prefect.flow-run.' || {{ issue }}, at, at, at, '{}', '{}'
from (select strftime('%Y-%m-%d %H:%M:%f000', {{ at }}) as at);

-- fixture issue: at work
insert into flow_run_state (flow_run_id, type, name, timestamp)
select {{ issue }}, 'FAILED', 'Failed', max(strftime('%Y-%m-%d %H:%M:%f000', {{ at }}), strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds'))
from flow_run_state where flow_run_id = {{ issue }};
insert into flow_run_state (flow_run_id, type, name, timestamp)
select {{ issue }}, 'SCHEDULED', 'AwaitingRetry', strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds')
from flow_run_state where flow_run_id = {{ issue }};
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'RUNNING', 'Running', strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }}), next_scheduled_start_time = null
where id = {{ issue }};
insert into events (event, resource_id, occurred, received, recorded, resource, payload)
select 'prefect.flow-run.heartbeat', 'prefect.flow-run.' || {{ issue }}, at, at, at, '{}', '{}'
from (select strftime('%Y-%m-%d %H:%M:%f000', {{ at }}) as at union all select strftime('%Y-%m-%d %H:%M:%f000', 'now'));

-- fixture issue: stops
update flow_run_state
set timestamp = s.at
from (select id, strftime('%Y-%m-%d %H:%M:%f000', {{ at }}, printf('-%f seconds', 0.001 * row_number() over (order by timestamp desc))) as at
      from flow_run_state where flow_run_id = {{ issue }}) s
where flow_run_state.id = s.id and timestamp > s.at;
update flow_run set state_timestamp = min(state_timestamp, strftime('%Y-%m-%d %H:%M:%f000', {{ at }})) where id = {{ issue }};
update events set occurred = min(occurred, strftime('%Y-%m-%d %H:%M:%f000', {{ at }})) where resource_id = 'prefect.flow-run.' || {{ issue }};
update log set timestamp = min(timestamp, strftime('%Y-%m-%d %H:%M:%f000', {{ at }})) where flow_run_id = {{ issue }};
update task_run set updated = min(updated, strftime('%Y-%m-%d %H:%M:%f000', {{ at }})) where flow_run_id = {{ issue }};

-- fixture issue: dies
delete from events where resource_id = 'prefect.flow-run.' || {{ issue }} and occurred > strftime('%Y-%m-%d %H:%M:%f000', {{ at }});

-- fixture issue: queued
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'SCHEDULED', 'AwaitingRetry', max(strftime('%Y-%m-%d %H:%M:%f000', {{ at }}), strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds'))
from flow_run_state where flow_run_id = {{ issue }};
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }}),
    next_scheduled_start_time = strftime('%Y-%m-%d %H:%M:%f000', {{ at }})
where id = {{ issue }};

-- fixture issue: wakes
select count(*) from flow_run f
where f.id = {{ issue }} and f.state_type = 'SCHEDULED' and f.next_scheduled_start_time <= strftime('%Y-%m-%d %H:%M:%f999', 'now')
  and f.work_queue_id is not null and json_extract(f.empirical_policy, '$.retry_type') is not 'in_process'

-- fixture issue: taken up
insert into flow_run_state (flow_run_id, type, name, timestamp)
select {{ issue }}, 'PENDING', 'Pending', max(strftime('%Y-%m-%d %H:%M:%f000', {{ at }}), strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds'))
from flow_run_state where flow_run_id = {{ issue }};
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'RUNNING', 'Running', strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }}), next_scheduled_start_time = null,
    run_count = run_count + 1
where id = {{ issue }};
insert into events (event, resource_id, occurred, received, recorded, resource, payload)
select 'prefect.flow-run.heartbeat', 'prefect.flow-run.' || {{ issue }}, at, at, at, '{}', '{}'
from (select strftime('%Y-%m-%d %H:%M:%f000', {{ at }}) as at union all select strftime('%Y-%m-%d %H:%M:%f000', 'now'));

-- fixture issue: claimed
update flow_run_state
set timestamp = s.at
from (select id, strftime('%Y-%m-%d %H:%M:%f000', {{ at }}, printf('-%f seconds', 0.001 * row_number() over (order by timestamp desc))) as at
      from flow_run_state where flow_run_id = {{ issue }}) s
where flow_run_state.id = s.id and timestamp > s.at;
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
values ({{ id }}, {{ issue }}, 'PENDING', 'Pending', strftime('%Y-%m-%d %H:%M:%f000', {{ at }}));
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }})
where id = {{ issue }};

-- fixture issue: finished
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'COMPLETED', 'Completed', max(strftime('%Y-%m-%d %H:%M:%f000', {{ at }}), strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds'))
from flow_run_state where flow_run_id = {{ issue }};
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }}), next_scheduled_start_time = null
where id = {{ issue }};

-- fixture issue: escalated
select s.message || a.data
from flow_run f join flow_run_state s on s.id = f.state_id join artifact a on a.flow_run_id = f.id
where f.id = {{ issue }} and f.state_type = 'CRASHED' and a.type = 'markdown'
limit 1

-- fixture issue: crowd
insert into flow_run (name, flow_id, deployment_id, work_queue_id, created, start_time, end_time, state_timestamp, state_type, state_name,
                      run_count)
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {{ count }})
select 'crowd-' || n, d.flow_id, d.id, d.work_queue_id, at, at, at, at, 'COMPLETED', 'Completed', 1
from deployment d, numbers, (select strftime('%Y-%m-%d %H:%M:%f000', {{ at }}) as at) where d.id = {{ agent }};
insert into flow_run_state (flow_run_id, type, name, timestamp)
select f.id, s.column1, s.column1, strftime('%Y-%m-%d %H:%M:%f000', f.created, s.column2)
from flow_run f, (values ('SCHEDULED', '+0.001 seconds'), ('PENDING', '+0.002 seconds'), ('RUNNING', '+0.003 seconds'),
                         ('COMPLETED', '+0.004 seconds')) s
where f.deployment_id = {{ agent }} and f.state_type = 'COMPLETED' and f.state_id is null;
update flow_run
set state_id = (select s.id from flow_run_state s where s.flow_run_id = flow_run.id order by s.timestamp desc limit 1)
where deployment_id = {{ agent }} and state_id is null;
insert into events (event, resource_id, occurred, received, recorded, resource, payload)
select 'prefect.flow-run.heartbeat', 'prefect.flow-run.' || f.id, f.created, f.created, f.created, '{}', '{}'
from flow_run f where f.deployment_id = {{ agent }} and f.state_type = 'COMPLETED';

-- fixture issue: left, its deployment is paused
update deployment set paused = 1 where id = (select deployment_id from flow_run where id = {{ issue }});

-- fixture issue: left, its work queue is paused
update work_queue set is_paused = 1 where id = (select work_queue_id from flow_run where id = {{ issue }});

-- fixture issue: left, its work pool is paused
update work_pool set is_paused = 1
where id = (select q.work_pool_id from work_queue q join flow_run f on f.work_queue_id = q.id where f.id = {{ issue }});

-- fixture issue: left, it is paused
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'PAUSED', 'Paused', strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }})
where id = {{ issue }};

-- fixture issue: left, it waits for input
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'PAUSED', 'Suspended', strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }})
where id = {{ issue }};
insert into flow_run_input (key, value, flow_run_id) values ('keyset-' || {{ id }}, '{}', {{ issue }});

-- fixture issue: left, somebody cancels it
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'CANCELLING', 'Cancelling', strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }})
where id = {{ issue }};

-- fixture issue: left, Prefect tries it again later
insert into flow_run_state (id, flow_run_id, type, name, timestamp)
select {{ id }}, {{ issue }}, 'SCHEDULED', 'AwaitingRetry', strftime('%Y-%m-%d %H:%M:%f000', max(timestamp), '+0.001 seconds')
from flow_run_state where flow_run_id = {{ issue }};
update flow_run
set (state_id, state_type, state_name, state_timestamp) = (select id, type, name, timestamp from flow_run_state where id = {{ id }}),
    next_scheduled_start_time = strftime('%Y-%m-%d %H:%M:%f000', 'now', '+1 day')
where id = {{ issue }};

-- fixture issue: left, its flow logs
insert into log (name, level, flow_run_id, message, timestamp)
values ('flow', 20, {{ issue }}, 'so far', strftime('%Y-%m-%d %H:%M:%f000', 'now'));

-- fixture issue: left, one of its tasks goes on
insert into task_run (name, task_key, dynamic_key, flow_run_id, state_type, state_name)
values ('part', 'part', {{ id }}, {{ issue }}, 'RUNNING', 'Running');

-- fixture issue: also, it has no deployment
update flow_run set deployment_id = null, work_queue_id = null where id = {{ issue }};

-- fixture issue: also, it never sent a heartbeat
delete from events where resource_id = 'prefect.flow-run.' || {{ issue }};

-- fixture issue: also, its times are none
update flow_run set start_time = 'soon', state_timestamp = 'now and then', next_scheduled_start_time = '' where id = {{ issue }};

-- fixture issue: also, its policy is no JSON
update flow_run set empirical_policy = '{' where id = {{ issue }};
