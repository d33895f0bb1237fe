-- The history of a flow run's states, as runs and wakes, as in postgres/.

-- A run of an issue is a stretch in which its flow run was RUNNING. Its id is that of the state before, which was its wake.
create view runs as
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
create view wakes as
select s.id, coalesce(f.deployment_id, f.flow_id) as agent_id, f.id as issue_id, 'issue_continuation_needed' as reason, '{}' as payload,
       'sweep' as requested_by, case when f.state_id = s.id then 'queued' else 'completed' end as status, r.created_at
from main.flow_run_state s
join main.flow_run f on f.id = s.flow_run_id
join recoveries r on r.kind = 'issue' and r.subject_id = f.id and r.wake_id = s.id;

-- Flow runs that are due and have not begun, whoever scheduled them. sweep's own view of pending wakes would read the history of all runs.
create view pending_wakes as
select f.state_id as id, f.id as issue_id,
       coalesce(strftime('%Y-%m-%dT%H:%M:%fZ', case f.state_type when 'SCHEDULED' then f.next_scheduled_start_time else f.state_timestamp end),
                strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as created_at,
       'it is ' || substr(coalesce(f.state_name, f.state_type), 1, 100)
           || coalesce(' in the work queue ' || (select substr(q.name, 1, 200) from main.work_queue q where q.id = f.work_queue_id), '') as detail
from main.flow_run f
where f.state_type = 'PENDING' or f.state_type = 'SCHEDULED' and f.next_scheduled_start_time <= strftime('%Y-%m-%d %H:%M:%f', 'now');

create view untaken_wakes as
select w.id, 'issue' as kind, i.id as subject_id, i.tenant, i.identifier as identifier, i.title, i.assignee_agent_id as agent_id,
       a.name as agent_name,
       case when i.obstacle is not null then 'paused' else coalesce(a.status, 'terminated') end as agent_status, w.created_at
from pending_wakes w
join issues i on i.id = w.issue_id
left join agents a on a.id = i.assignee_agent_id;

-- The times at which wakes were taken up, by Prefect's indexes on these columns; the history of states has no such index.
create view wake_pickups as
select f.state_id as wake_id, strftime('%Y-%m-%dT%H:%M:%fZ', f.start_time) as taken_at from main.flow_run f where f.start_time is not null
union all
select f.state_id, strftime('%Y-%m-%dT%H:%M:%fZ', f.state_timestamp) from main.flow_run f where f.state_type = 'RUNNING' and f.run_count > 1;

-- The flow runs that have ended, in this order: a row of a state is written once, and the number of the latest is the greatest. The `+`
-- has SQLite read by that number.
create view run_ends as
select s.rowid as id, s.flow_run_id as subject_id from main.flow_run_state s
where +s.type in ('COMPLETED', 'FAILED', 'CRASHED', 'CANCELLED');

-- An insert into this view moves a flow run into a state. The new state gets a time after all others, even if another machine's
-- clock is ahead.
create view entered_states as
select s.id, s.flow_run_id, s.type, s.name, s.message, s.state_details from main.flow_run_state s;

create trigger enter_state instead of insert on entered_states begin
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
create trigger insert_wake instead of insert on wakes begin
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
create trigger update_issue instead of update on issues when new.status = 'blocked' begin
    insert into entered_states
    -- A random uuid, as Prefect makes its ids.
    values (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a'
                  || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))),
            old.id, 'CRASHED', 'Crashed', 'sweep: this run needs a person. ' || substr(new.unblock_action, 1, 2000),
            json_object('flow_run_id', old.id));
    update flow_run set end_time = state_timestamp, next_scheduled_start_time = null where id = old.id;
end;

-- The artifacts of flow runs, which people read beside the states, as comments.
create view comments as
select a.id, a.flow_run_id as issue_id, 'somebody' as author, substr(case when json_valid(a.data) then a.data ->> '$' end, 1, 1000) as body
from main.artifact a where a.type = 'markdown' and a.flow_run_id is not null;

create trigger insert_comment instead of insert on comments begin
    insert into artifact (id, type, flow_run_id, description, data)
    values (new.id, 'markdown', new.issue_id, 'sweep: this run needs a person', json_quote(new.body));
end;
