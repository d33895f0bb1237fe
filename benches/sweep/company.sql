-- A made-up company in sweep's own schema: so many agents and issues, one run each, and after so many issues (stride)
-- the next agent's. What has become of an issue is SQL over its number n (states): finished, orphaned, live or woken.
-- Its id is md5(n), which pgbench can compute (one_each.sql).
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
insert into runs (agent_id, issue_id, status, created_at, finished_at)
select agent_id, id, case state when 'live' then 'running' when 'finished' then 'succeeded' else 'failed' end,
       now() - interval '4 hours', case when state <> 'live' then now() - interval '3 hours' end
from plan;
insert into wakes (agent_id, issue_id, reason, requested_by)
select agent_id, id, 'issue_assigned', 'host' from plan where state = 'woken';
