-- How `sweep host verify` makes our work: docs/hosts.md lists the blocks.

-- fixture agent
insert into workers (id, name) overriding system value values ({{ agent }}, 'Ada');

-- fixture agent: paused
update workers set enabled = false where id = {{ agent }};

-- fixture issue
insert into tasks (id, title, state, worker_id, changed_at) overriding system value
values ({{ issue }}, 'Mend the fence', 'doing', {{ agent }}, {{ at }});

-- fixture issue: at work
insert into jobs (task_id, worker_id, state, queued_at) values ({{ issue }}, {{ agent }}, 'running', {{ at }});

-- fixture issue: stops
update jobs set state = 'failed', queued_at = least(queued_at, {{ at }}), ended_at = {{ at }}
where task_id = {{ issue }} and state = 'running';

-- fixture issue: queued
insert into jobs (task_id, worker_id, queued_at) values ({{ issue }}, {{ agent }}, {{ at }});

-- fixture issue: wakes
select count(*) from jobs where task_id = {{ issue }} and state = 'queued'

-- fixture issue: taken up
update jobs set state = 'running', queued_at = {{ at }} where task_id = {{ issue }} and state = 'queued';

-- fixture issue: finished
update tasks set state = 'done', changed_at = {{ at }} where id = {{ issue }};
update jobs set state = 'done', ended_at = {{ at }} where task_id = {{ issue }} and state = 'running';

-- fixture issue: escalated
select note from tasks where id = {{ issue }} and state = 'stuck'

-- fixture issue: noted
update tasks set note = {{ words }} where id = {{ issue }};

-- fixture issue: crowd
with finished as (
    insert into tasks (title, state, worker_id, changed_at)
    select 'Paint the fence', 'done', {{ agent }}, {{ at }} from generate_series(1, {{ count }})
    returning id
)
insert into jobs (task_id, worker_id, state, queued_at, ended_at)
select id, {{ agent }}, 'done', {{ at }}, {{ at }} from finished;

-- fixture issue: left, nobody has it
update tasks set worker_id = null where id = {{ issue }};

-- fixture issue: left, it is open
update tasks set state = 'open' where id = {{ issue }};
