-- A made-up company in Paperclip's own schema: an agent for each eight orphans, and one run for each issue. Of two issues beside each
-- orphan it is queued.
insert into companies (id, name, issue_prefix, default_responsible_user_id) values (md5('company')::uuid, 'Acme', 'ACM', 'maria');
insert into agents (id, company_id, name, status)
select md5('agent ' || n)::uuid, md5('company')::uuid, 'Agent ' || n, 'idle' from generate_series(0, 249) n;
insert into issues (id, company_id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select md5(n::text)::uuid, md5('company')::uuid, 'ACM-' || n, 'Issue ' || n, case when n % :stride < 3 then 'in_progress' else 'done' end,
       md5('agent ' || n / :stride % 250)::uuid, now() - interval '1 day', now() - interval '2 days',
       now() - interval '3 hours' + n * interval '1 ms'
from generate_series(0, :issues - 1) n;
insert into heartbeat_runs (company_id, agent_id, status, context_snapshot, created_at, started_at, finished_at, updated_at)
select company_id, assignee_agent_id, case when is_live then 'queued' else 'failed' end, jsonb_build_object('issueId', id),
       now() - interval '4 hours', case when not is_live then now() - interval '4 hours' end, case when not is_live then now() - interval '3 hours' end,
       case when is_live then now() else now() - interval '3 hours' end
from (select *, status = 'in_progress' and substr(identifier, 5)::int % :stride > 0 as is_live from issues) i;
analyze companies; analyze agents; analyze issues; analyze heartbeat_runs;
