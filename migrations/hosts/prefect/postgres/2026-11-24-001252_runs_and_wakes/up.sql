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
