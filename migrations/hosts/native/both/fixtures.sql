-- How `sweep host verify` makes work in sweep's own tables: docs/hosts.md lists the blocks.

-- fixture agent
insert into agents (id, name) values ({{ agent }}, 'Ada');

-- fixture agent: paused
update agents set status = 'paused' where id = {{ agent }};

-- fixture issue
insert into issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
values ({{ issue }}, {{ issue }}, 'Mend the fence', 'in_progress', {{ agent }}, {{ at }}, {{ at }}, {{ at }});

-- fixture issue: at work
insert into runs (id, agent_id, issue_id, status, created_at) values ({{ id }}, {{ agent }}, {{ issue }}, 'running', {{ at }});

-- fixture issue: stops
update runs set status = 'failed', finished_at = {{ at }} where issue_id = {{ issue }} and status = 'running';

-- fixture issue: queued
insert into wakes (id, agent_id, issue_id, reason, requested_by, created_at)
values ({{ id }}, {{ agent }}, {{ issue }}, 'assigned', 'host', {{ at }});

-- fixture issue: wakes
select count(*) from wakes where issue_id = {{ issue }} and status = 'queued'

-- fixture issue: taken up
insert into runs (id, agent_id, issue_id, wake_id, status, created_at)
select {{ id }}, agent_id, issue_id, id, 'running', {{ at }} from wakes where issue_id = {{ issue }} and status = 'queued';
update wakes set status = 'completed' where issue_id = {{ issue }} and status = 'queued';

-- fixture issue: claimed
update wakes set status = 'claimed', created_at = {{ at }}, updated_at = {{ at }} where issue_id = {{ issue }} and status = 'queued';

-- fixture issue: finished
update runs set status = 'succeeded', finished_at = {{ at }} where issue_id = {{ issue }} and status = 'running';
update issues set status = 'done', updated_at = {{ at }} where id = {{ issue }};

-- fixture issue: escalated
select unblock_action from issues where id = {{ issue }} and status = 'blocked'

-- fixture issue: noted
insert into comments (id, issue_id, author, body) values ({{ id }}, {{ issue }}, 'grace', {{ words }});

-- fixture issue: crowd
insert into issues (id, identifier, title, status, assignee_agent_id, created_at, updated_at)
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {{ count }})
select {{ "lower(hex(randomblob(16)))" if sqlite else "gen_random_uuid()" }}, 'N-' || n, 'Paint the fence', 'done', {{ agent }}, {{ at }}, {{ at }}
from numbers;
insert into runs (id, agent_id, issue_id, status, created_at, finished_at)
select {{ "lower(hex(randomblob(16)))" if sqlite else "gen_random_uuid()" }}, assignee_agent_id, id, 'succeeded', {{ at }}, {{ at }}
from issues where assignee_agent_id = {{ agent }} and status = 'done';

-- fixture issue: left, a person has it
update issues set assignee_user_id = 'grace' where id = {{ issue }};

-- fixture issue: left, it waits for an approval
update issues set waiting_for = 'approval by legal' where id = {{ issue }};

-- fixture issue: left, it is in review
update issues set status = 'in_review' where id = {{ issue }};

-- fixture issue: left, its session is at work
insert into sessions (id, agent_id, issue_id, status, started_at, last_activity_at, last_progress_at, created_at)
values ({{ id }}, {{ agent }}, {{ issue }}, 'active', {{ at }}, {{ at }}, {{ at }}, {{ at }});

-- fixture issue: also, an old wake of the host's is queued
insert into wakes (id, agent_id, issue_id, reason, requested_by, created_at)
values ({{ id }}, {{ agent }}, {{ issue }}, 'assigned', 'host', {{ "strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-2 hours')" if sqlite else "now() - interval '2 hours'" }});

-- fixture step
insert into plans (id, title, status, agent_id) values ({{ plan }}, 'Launch', 'executing', {{ agent }});
insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
values ({{ step }}, {{ plan }}, 1, 'Pack', 'in_progress', {{ at }}, {{ at }});

-- fixture step: at work
insert into runs (id, agent_id, plan_step_id, status, created_at) values ({{ id }}, {{ agent }}, {{ step }}, 'running', {{ at }});

-- fixture step: stops
update runs set status = 'failed', finished_at = {{ at }} where plan_step_id = {{ step }} and status = 'running';

-- fixture step: queued
insert into wakes (id, agent_id, plan_step_id, reason, requested_by, created_at)
values ({{ id }}, {{ agent }}, {{ step }}, 'assigned', 'host', {{ at }});

-- fixture step: wakes
select count(*) from wakes where plan_step_id = {{ step }} and status = 'queued'

-- fixture step: taken up
insert into runs (id, agent_id, plan_step_id, wake_id, status, created_at)
select {{ id }}, agent_id, plan_step_id, id, 'running', {{ at }} from wakes where plan_step_id = {{ step }} and status = 'queued';
update wakes set status = 'completed' where plan_step_id = {{ step }} and status = 'queued';

-- fixture step: claimed
update wakes set status = 'claimed', created_at = {{ at }}, updated_at = {{ at }} where plan_step_id = {{ step }} and status = 'queued';

-- fixture step: finished
update runs set status = 'succeeded', finished_at = {{ at }} where plan_step_id = {{ step }} and status = 'running';
update plan_steps set status = 'completed', updated_at = {{ at }} where id = {{ step }};

-- fixture step: escalated
select status from plans where id = {{ plan }} and status = 'stalled'

-- fixture step: crowd
insert into plans (id, title, status, agent_id) values ({{ plan }}, 'Long ago', 'completed', {{ agent }});
insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {{ count }})
select {{ "lower(hex(randomblob(16)))" if sqlite else "gen_random_uuid()" }}, {{ plan }}, n, 'Pack', 'completed', {{ at }}, {{ at }} from numbers;

-- fixture step: left, it was skipped
update plan_steps set status = 'skipped' where id = {{ step }};

-- fixture step: left, its plan was cancelled
update plans set status = 'cancelled' where id = {{ plan }};

-- fixture session
insert into sessions (id, agent_id, status, started_at, last_activity_at, last_progress_at, created_at)
values ({{ session }}, {{ agent }}, 'active', {{ at }}, {{ at }}, {{ at }}, {{ at }});

-- fixture session: at work
update sessions set last_activity_at = {{ at }}, last_progress_at = {{ at }} where id = {{ session }};

-- fixture session: stops
update sessions set last_activity_at = {{ at }}, last_progress_at = {{ at }} where id = {{ session }};

-- fixture session: wakes
select count(*) from session_commands where session_id = {{ session }} and status = 'queued'

-- fixture session: taken up
update session_commands set status = 'delivered', created_at = {{ at }}, updated_at = {{ at }}
where session_id = {{ session }} and status = 'queued';

-- fixture session: finished
update sessions set status = 'terminated', ended_at = {{ at }}, exit_code = 0 where id = {{ session }};

-- fixture session: crowd
insert into sessions (id, agent_id, status, started_at, ended_at, exit_code, created_at)
with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < {{ count }})
select {{ "lower(hex(randomblob(16)))" if sqlite else "gen_random_uuid()" }}, {{ agent }}, 'terminated', {{ at }}, {{ at }}, 0, {{ at }} from numbers;

-- fixture session: left, its stall detection is paused
update sessions set stall_paused = true where id = {{ session }};

-- fixture session: also, its process crashed
update sessions set ended_at = {{ at }}, exit_code = 1 where id = {{ session }};
