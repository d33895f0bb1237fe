-- As in postgres/0001_work. A table of ours is written main.tasks, since a view of its name would come first; in a trigger, where
-- SQLite takes no such name, it is written plainly.

create view host_behavior as
select 1.0 as run_end_grace_seconds,
       'set the task to open' as resume_advice;

-- A worker that is switched off is not to be woken.
create view agents as
select id, name, case when enabled then 'active' else 'paused' end as status
from main.workers;

create view issues as
select t.id,
       'default' as tenant,
       't' || t.id as identifier,
       t.title,
       case t.state when 'doing' then 'in_progress' when 'stuck' then 'blocked' when 'open' then 'todo' else t.state end as status,
       t.worker_id as assignee_agent_id,
       null as assignee_user_id,
       null as checkout_run_id,
       nullif(t.note, '') as unblock_action,
       null as waiting_for,
       null as wait_until,
       null as started_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.changed_at) as created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', t.changed_at) as updated_at,
       null as obstacle,
       null as host_plan,
       null as unreachable
from main.tasks t;

-- An escalation: the task is stuck, and its note says what to do.
create trigger update_issue instead of update on issues when new.status = 'blocked' begin
    update tasks
    set state = 'stuck', note = trim(note || char(10) || new.unblock_action, char(10)), changed_at = datetime(new.updated_at)
    where id = old.id and state = 'doing';
end;

create view runs as
select j.id,
       j.worker_id as agent_id,
       j.task_id as issue_id,
       w.wake_id,
       null as retry_reason,
       case j.state when 'done' then 'succeeded' else j.state end as status,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.queued_at) as created_at,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.ended_at) as finished_at,
       null as heartbeat_at,
       null as lease_seconds,
       null as lost
from main.jobs j
left join wake_jobs w on w.job_id = j.id;

-- Those of sweep's are in wake_jobs; any other job that is queued is one of ours. SQLite looks for the wakes of one task by the indexes of both
-- halves only if their columns are of the same types: a column of a table has one, and other values have none without a cast.
create view wakes as
select w.wake_id as id, j.worker_id as agent_id, j.task_id as issue_id, w.reason, '{}' as payload, w.requested_by,
       case j.state when 'queued' then 'queued' when 'running' then 'claimed' else 'completed' end as status,
       strftime('%Y-%m-%dT%H:%M:%fZ', j.queued_at) as created_at
from wake_jobs w
join main.jobs j on j.id = w.job_id
union all
select cast('job ' || j.id as text), j.worker_id, j.task_id, cast('queued' as text), '{}', cast('our scheduler' as text), 'queued',
       strftime('%Y-%m-%dT%H:%M:%fZ', j.queued_at)
from main.jobs j
where j.state = 'queued' and not exists (select 1 from wake_jobs w where w.job_id = j.id);

-- A wake is a job in the queue, as our scheduler would put it there.
create trigger insert_wake instead of insert on wakes begin
    insert into jobs (task_id, worker_id) values (new.issue_id, new.agent_id);
    insert into sweep_wake_jobs values (new.id, last_insert_rowid(), new.requested_by, new.reason);
end;

-- What people read about a task is its note.
create view comments as
select 'note ' || t.id as id, t.id as issue_id, 'somebody' as author, t.note as body from main.tasks t;

create trigger insert_comment instead of insert on comments begin
    update tasks set note = trim(note || char(10) || new.body, char(10)) where id = new.issue_id;
end;
