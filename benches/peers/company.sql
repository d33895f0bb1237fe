-- A made-up company in sweep's own schema: one issue in so many is stranded, two beside it are being worked on, the
-- others are done. The issue with the number n has the id md5(n), which ../sweep/one_each.sql goes by.
set search_path = sweep;
-- Foreign keys are not checked: the rows are known to be sound, and there are many.
set session_replication_role = replica;
insert into agents (id, name)
select md5('agent ' || n)::uuid, 'Agent ' || n from generate_series(0, :agents - 1) n;
create temp table plan as
select n, md5(n::text)::uuid as id, md5('agent ' || n / :stride % :agents)::uuid as agent_id,
       case when n % :stride = 0 then 'stranded' when n % :stride in (1, 2) then 'live' else 'done' end as state
from generate_series(0, :items * :stride - 1) n;
insert into issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select id, 'ACM-' || n, state, case when state = 'done' then 'done' else 'in_progress' end, agent_id,
       now() - interval '1 day', now() - interval '2 days', now() - interval '3 hours' + n * interval '1 ms'
from plan;
insert into runs (agent_id, issue_id, status, created_at, finished_at)
select agent_id, id, case state when 'live' then 'running' when 'done' then 'succeeded' else 'failed' end,
       now() - interval '4 hours', case when state <> 'live' then now() - interval '3 hours' end
from plan;
vacuum analyze agents, issues, runs;
