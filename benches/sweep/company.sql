-- A made-up company in sweep's own schema. Its variables: agents and issues are how many there are; stride is how many
-- issues follow one another before those of the next agent; states is SQL over the number n of an issue, which says
-- what has become of it: finished, orphaned, live or woken. Each issue has one run. The id of an issue is md5(n), so
-- that pgbench can compute it (one_each.sql).
set search_path = sweep;
-- Foreign keys are not checked: the rows are known to be sound, and there are many.
set session_replication_role = replica;
insert into agents (id, name) select md5('agent ' || n)::uuid, 'Agent ' || n from generate_series(0, :agents - 1) n;
create temp table plan as
select n, md5(n::text)::uuid as id, md5('agent ' || n / :stride % :agents)::uuid as agent_id, :states as state
from generate_series(0, :issues - 1) n;
insert into issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select id, 'ACM-' || n, state, case when state = 'finished' then 'done' else 'in_progress' end, agent_id,
       now() - interval '1 day', now() - interval '2 days', now() - interval '3 hours' + n * interval '1 ms'
from plan;
-- A live run holds a lease of a day: its worker was heard of, so nothing is said about it.
insert into runs (agent_id, issue_id, status, created_at, finished_at, heartbeat_at, lease_seconds)
select agent_id, id, case state when 'live' then 'running' when 'finished' then 'succeeded' else 'failed' end,
       now() - interval '4 hours', case when state <> 'live' then now() - interval '3 hours' end,
       case when state = 'live' then now() end, case when state = 'live' then 86400 end
from plan;
insert into wakes (agent_id, issue_id, reason, requested_by)
select agent_id, id, 'issue_assigned', 'host' from plan where state = 'woken';
