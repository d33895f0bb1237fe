-- As in postgres/: the history of a flow run's states, as runs and wakes.

-- A run of an issue is a stretch in which its flow run was RUNNING. It is called by the state that waited for it, which was its wake.
create view runs as
select a.id,
       coalesce(f.deployment_id, f.flow_id) as agent_id,
       a.flow_run_id as issue_id,
       a.id as wake_id,
       -- What follows RUNNING at once resumes it: Prefect's own retry of a flow that failed, or a wake of ours.
       case when before.type = 'RUNNING' then 'retry' end as retry_reason,
       case when f.state_id is not began.id then
                case coalesce(ended.type, f.state_type)
                    when 'COMPLETED' then 'succeeded' when 'FAILED' then 'failed' when 'CRASHED' then 'failed'
                    when 'CANCELLED' then 'cancelled' when 'CANCELLING' then 'cancelled' else 'interrupted' end
            when life.is_alive then 'running'
            when life.has_heartbeats then 'interrupted: its heartbeats have stopped'
            else 'interrupted: it shows nothing, and no heartbeat of it is known' end as status,
       strftime('%Y-%m-%dT%H:%M:%fZ', began.timestamp) as created_at,
       case when f.state_id is not began.id then strftime('%Y-%m-%dT%H:%M:%fZ', coalesce(ended.timestamp, f.state_timestamp))
            when life.is_alive then null
            else life.last_at end as finished_at
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

-- What is due and has not begun, and what was such a state once: of that only what sweep made is of interest.
create view wakes as
select f.state_id as id, coalesce(f.deployment_id, f.flow_id) as agent_id, f.id as issue_id,
       'due' as reason, '{}' as payload,
       case when exists (select 1 from recoveries r where r.kind = 'issue' and r.subject_id = f.id and r.wake_id = f.state_id)
            then 'sweep' else 'Prefect' end as requested_by,
       case f.state_type when 'SCHEDULED' then 'queued' else 'claimed' end as status,
       strftime('%Y-%m-%dT%H:%M:%fZ', case f.state_type when 'SCHEDULED' then f.next_scheduled_start_time else f.state_timestamp end) as created_at
from main.flow_run f
where f.state_type = 'PENDING' or f.state_type = 'SCHEDULED' and f.next_scheduled_start_time <= strftime('%Y-%m-%d %H:%M:%f', 'now')
union all
select r.wake_id, coalesce(f.deployment_id, f.flow_id), f.id, 'issue_continuation_needed', '{}', 'sweep', 'completed', r.created_at
from main.flow_run_state s
join main.flow_run f on f.id = s.flow_run_id
join recoveries r on r.kind = 'issue' and r.subject_id = f.id and r.wake_id = s.id
where f.state_id <> s.id;

-- When runs were taken up, by Prefect's indexes on these times: the history of all states has none.
create view wake_pickups as
select f.state_id as wake_id, strftime('%Y-%m-%dT%H:%M:%fZ', f.start_time) as taken_at from main.flow_run f where f.start_time is not null
union all
select f.state_id, strftime('%Y-%m-%dT%H:%M:%fZ', f.state_timestamp) from main.flow_run f where f.state_type = 'RUNNING' and f.run_count > 1;

-- What is inserted here is a state that a flow run goes over into: its states have times of their own each, and the new one is the
-- latest, also if another machine's clock is ahead.
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

-- A wake is what Prefect's own Retry makes: a state that the workers of its queue poll for. Here the run is looked at again.
create trigger insert_wake instead of insert on wakes begin
    select raise(abort, 'the flow run is no longer as it was seen')
    where not exists (
        select 1 from issues i join agents a on a.id = i.assignee_agent_id join flow_run f on f.id = i.id
        where i.id = new.issue_id and a.id = new.agent_id and a.status = 'active' and f.state_type = 'RUNNING'
          and i.unreachable is null and i.obstacle is null
          and not exists (select 1 from runs r where r.issue_id = i.id and r.status = 'running')
    );
    insert into entered_states
    values (new.id, new.issue_id, 'SCHEDULED', 'AwaitingRetry', 'sweep: nobody was at work on it any more, so it is started once more',
            json_object('flow_run_id', new.issue_id, 'scheduled_time', strftime('%Y-%m-%dT%H:%M:%fZ', 'now')));
    -- As Prefect's own: no worker takes up what its process was to try again itself.
    update flow_run
    set next_scheduled_start_time = strftime('%Y-%m-%d %H:%M:%f000', 'now'),
        empirical_policy = case when json_valid(empirical_policy)
            then json_set(empirical_policy, '$.retry_type', 'reschedule', '$.resuming', json('false'), '$.pause_keys', json('[]'))
            else empirical_policy end
    where id = new.issue_id;
end;

-- An escalation: the run has crashed, and its timeline says what to do. That frees its place under the limits that count runs at
-- work, and a person can press Retry.
create trigger update_issue instead of update on issues when new.status = 'blocked' begin
    insert into entered_states
    -- An id as Prefect makes them.
    values (lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-a'
                  || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))),
            old.id, 'CRASHED', 'Crashed', 'sweep: this run needs a person. ' || substr(new.unblock_action, 1, 2000),
            json_object('flow_run_id', old.id));
    update flow_run set end_time = state_timestamp, next_scheduled_start_time = null where id = old.id;
end;

-- What people read of a run beside its states are its artifacts.
create view comments as
select a.id, a.flow_run_id as issue_id, 'somebody' as author, substr(case when json_valid(a.data) then a.data ->> '$' end, 1, 1000) as body
from main.artifact a where a.type = 'markdown' and a.flow_run_id is not null;

create trigger insert_comment instead of insert on comments begin
    insert into artifact (id, type, flow_run_id, description, data)
    values (new.id, 'markdown', new.issue_id, 'sweep: this run needs a person', json_quote(new.body));
end;
