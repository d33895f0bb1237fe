-- Which of our wakes is which job.
create table wake_jobs (
    wake_id uuid primary key,
    job_id bigint not null unique,
    requested_by text not null,
    reason text not null
);

create view host_behavior as
select 1::float8 as run_end_grace_seconds,
       'set the task to open' as resume_advice;

-- A worker that is switched off is not to be woken.
create view agents as
select id, name, case when enabled then 'active' else 'paused' end as status
from public.workers;

create view issues as
select t.id,
       'default' as tenant,
       't' || t.id as identifier,
       t.title,
       case t.state when 'doing' then 'in_progress' when 'stuck' then 'blocked' when 'open' then 'todo' else t.state end as status,
       t.worker_id as assignee_agent_id,
       null::text as assignee_user_id,
       null::bigint as checkout_run_id,
       nullif(t.note, '') as unblock_action,
       null::text as waiting_for,
       null::timestamptz as wait_until,
       null::timestamptz as started_at,
       t.changed_at as created_at,
       t.changed_at as updated_at,
       null::text as obstacle,
       null::text as host_plan,
       null::text as unreachable
from public.tasks t;

-- An escalation: the task is stuck, and its note says what to do.
create function update_issue() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    if new.status is distinct from 'blocked' or old.status = 'blocked' then
        raise exception 'sweep sets a task stuck, and nothing else';
    end if;
    update public.tasks
    set state = 'stuck', note = concat_ws(E'\n', nullif(note, ''), new.unblock_action), changed_at = new.updated_at
    where id = old.id and state = 'doing';
    return case when found then new end;
-- The detail of such an error is the whole row of the task, which whoever writes may not read.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger update_issue instead of update on issues for each row execute function update_issue();

create view runs as
select j.id,
       j.worker_id as agent_id,
       j.task_id as issue_id,
       w.wake_id,
       null::text as retry_reason,
       case j.state when 'done' then 'succeeded' else j.state end as status,
       j.queued_at as created_at,
       j.ended_at as finished_at,
       null::timestamptz as heartbeat_at,
       null::integer as lease_seconds,
       null::text as lost
from public.jobs j
left join wake_jobs w on w.job_id = j.id;

-- Those of sweep's are in wake_jobs; any other job that is queued is one of ours. Who asks for the wakes of one task is to find them by
-- jobs_by_task. By jobs_queued PostgreSQL would read the whole queue, which its statistics believe to be short: it uses that for the plain words
-- `j.state = 'queued'` alone.
create view wakes as
select w.wake_id as id, j.worker_id as agent_id, j.task_id as issue_id, w.reason, '{}'::jsonb as payload, w.requested_by,
       case j.state when 'queued' then 'queued' when 'running' then 'claimed' else 'completed' end as status,
       j.queued_at as created_at
from wake_jobs w
join public.jobs j on j.id = w.job_id
union all
select md5(j.id::text)::uuid, j.worker_id, j.task_id, 'queued', '{}', 'our scheduler', 'queued', j.queued_at
from public.jobs j
where coalesce(j.state = 'queued', false) and not exists (select from wake_jobs w where w.job_id = j.id);

-- A wake is a job in the queue, as our scheduler would put it there.
create function insert_wake() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
declare
    job bigint;
begin
    insert into public.jobs (task_id, worker_id) values (new.issue_id, new.agent_id) returning id into job;
    insert into wake_jobs values (new.id, job, new.requested_by, new.reason);
    return new;
end $$;
create trigger insert_wake instead of insert on wakes for each row execute function insert_wake();

-- What people read about a task is its note.
create view comments as
select md5(t.id::text)::uuid as id, t.id as issue_id, 'somebody' as author, t.note as body from public.tasks t;

create function insert_comment() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update public.tasks set note = concat_ws(E'\n', nullif(note, ''), new.body) where id = new.issue_id;
    return case when found then new end;
end $$;
create trigger insert_comment instead of insert on comments for each row execute function insert_comment();

-- Else anybody could put one of them on a table of his own, and write with its owner's rights.
revoke execute on function update_issue, insert_wake, insert_comment from public;
