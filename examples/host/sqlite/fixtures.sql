-- As in postgres/fixtures.sql. {{ at }} is a text such as '2026-11-24T08:00:00.000Z', and ours are written by datetime().

-- fixture agent
insert into workers (id, name) values ({{ agent }}, 'Ada');

-- fixture agent: paused
update workers set enabled = 0 where id = {{ agent }};

-- fixture issue
insert into tasks (id, title, state, worker_id, changed_at)
values ({{ issue }}, 'Mend the fence', 'doing', {{ agent }}, datetime({{ at }}));

-- fixture issue: at work
insert into jobs (task_id, worker_id, state, queued_at) values ({{ issue }}, {{ agent }}, 'running', datetime({{ at }}));

-- fixture issue: stops
update jobs set state = 'failed', queued_at = min(queued_at, datetime({{ at }})), ended_at = datetime({{ at }})
where task_id = {{ issue }} and state = 'running';

-- fixture issue: queued
insert into jobs (task_id, worker_id, queued_at) values ({{ issue }}, {{ agent }}, datetime({{ at }}));

-- fixture issue: wakes
select count(*) from jobs where task_id = {{ issue }} and state = 'queued'

-- fixture issue: taken up
update jobs set state = 'running', queued_at = datetime({{ at }}) where task_id = {{ issue }} and state = 'queued';

-- fixture issue: finished
update tasks set state = 'done', changed_at = datetime({{ at }}) where id = {{ issue }};
update jobs set state = 'done', ended_at = datetime({{ at }}) where task_id = {{ issue }} and state = 'running';

-- fixture issue: escalated
select note from tasks where id = {{ issue }} and state = 'stuck'

-- fixture issue: noted
update tasks set note = {{ words }} where id = {{ issue }};

-- fixture issue: crowd
insert into tasks (title, state, worker_id, changed_at)
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {{ count }})
select 'Paint the fence', 'done', {{ agent }}, datetime({{ at }}) from numbers;
insert into jobs (task_id, worker_id, state, queued_at, ended_at)
select id, worker_id, 'done', datetime({{ at }}), datetime({{ at }}) from tasks where worker_id = {{ agent }};

-- fixture issue: left, nobody has it
update tasks set worker_id = null where id = {{ issue }};

-- fixture issue: left, it is open
update tasks set state = 'open' where id = {{ issue }};
