create table wake_runs (
    wake_id uuid primary key,
    run_key bigint not null unique,
    requested_by text not null,
    reason text not null
);

create view host_behavior as
select 1::float8 as run_end_grace_seconds, 'open it again' as resume_advice;

create view agents as
select {{ key }} as id, {{ name }} as name, case when {{ active }} = {{ yes }} then 'active' else 'paused' end as status
from public.{{ agents }};

create view issues as
select i.{{ key }} as id,
       'all' as tenant,
       '#' || i.{{ key }} as identifier,
       coalesce(left(i.{{ title }}, 1000), '') as title,
       case i.{{ state }} when {{ doing }} then 'in_progress' when {{ stuck }} then 'blocked' when {{ done }} then 'done' else 'todo' end as status,
       i.{{ owner }} as assignee_agent_id,
       null::text as assignee_user_id,
       null::{{ id }} as checkout_run_id,
       i.{{ note }} as unblock_action,
       null::text as waiting_for,
       null::timestamptz as wait_until,
       null::timestamptz as started_at,
       {{ ("i." ~ changed) | read }} as created_at,
       {{ ("i." ~ changed) | read }} as updated_at,
       null::text as obstacle,
       null::text as host_plan,
       null::text as unreachable
from public.{{ issues }} i;

create function update_issue() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update public.{{ issues }}
    set {{ state }} = {{ stuck }}, {{ note }} = new.unblock_action, {{ changed }} = {{ "new.updated_at" | write }}
    where {{ key }} = old.id and {{ state }} = {{ doing }} and new.status = 'blocked';
    return case when found then new end;
end $$;
create trigger update_issue instead of update on issues for each row execute function update_issue();

create view runs as
select {{ ("r." ~ run_key) | run_id }} as id,
       r.{{ owner }} as agent_id,
       r.{{ issue }} as issue_id,
       w.wake_id,
       null::text as retry_reason,
       case r.{{ state }} when {{ queued }} then 'queued' when {{ running }} then 'running' when {{ failed }} then 'failed' else 'succeeded' end as status,
       {{ ("r." ~ began) | read }} as created_at,
       {{ ("r." ~ ended) | read }} as finished_at,
       null::timestamptz as heartbeat_at,
       null::integer as lease_seconds,
       null::text as lost
from public.{{ runs }} r left join wake_runs w on w.run_key = r.{{ run_key }};

create view wakes as
select w.wake_id as id, r.{{ owner }} as agent_id, r.{{ issue }} as issue_id, w.reason, '{}'::jsonb as payload, w.requested_by,
       case r.{{ state }} when {{ queued }} then 'queued' when {{ running }} then 'claimed' else 'completed' end as status,
       {{ ("r." ~ began) | read }} as created_at
from wake_runs w join public.{{ runs }} r on r.{{ run_key }} = w.run_key;

create function insert_wake() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
declare
    new_run bigint;
begin
    insert into public.{{ runs }} ({{ issue }}, {{ owner }}, {{ began }}, {{ state }})
    values (new.issue_id, new.agent_id, {{ "clock_timestamp()" | write }}, {{ queued }}) returning {{ run_key }} into new_run;
    insert into wake_runs values (new.id, new_run, new.requested_by, new.reason);
    return new;
end $$;
create trigger insert_wake instead of insert on wakes for each row execute function insert_wake();

create view comments as
select md5({{ key }}::text)::uuid as id, {{ key }} as issue_id, 'all' as author, {{ note }} as body from public.{{ issues }};

create function insert_comment() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update public.{{ issues }} set {{ note }} = new.body where {{ key }} = new.issue_id;
    return case when found then new end;
end $$;
create trigger insert_comment instead of insert on comments for each row execute function insert_comment();

revoke execute on function update_issue, insert_wake, insert_comment from public;
