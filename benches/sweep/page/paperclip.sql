-- 100,000 issues, each continued once and then escalated, over the last four weeks.
set search_path = public, sweep; set session_replication_role = replica;
insert into companies (id, name, issue_prefix, default_responsible_user_id) values ('c0000000-0000-4000-8000-000000000001', 'Acme', 'ACM', 'user-1');
insert into agents (id, company_id, name, status) select md5('agent ' || n)::uuid, 'c0000000-0000-4000-8000-000000000001', 'Agent ' || n, 'idle' from generate_series(0, 199) n;
insert into issues (id, company_id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select md5(n::text)::uuid, 'c0000000-0000-4000-8000-000000000001', 'ACM-' || n, 'Migrate customer ' || n, :status, md5('agent ' || n % 200)::uuid, now() - interval '29 days', now() - interval '29 days', now() - interval '28 days' + n * interval '20 seconds' from generate_series(1, :escalations) n;
insert into heartbeat_runs (id, company_id, agent_id, status, context_snapshot, created_at, started_at, finished_at, updated_at) select gen_random_uuid(), company_id, assignee_agent_id, 'failed', jsonb_build_object('issueId', id), updated_at - interval '1 hour', updated_at - interval '1 hour', updated_at - interval '30 minutes', updated_at - interval '30 minutes' from issues;
insert into sweep.recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id, created_at, settled_at)
select gen_random_uuid(), gen_random_uuid(), 'issue', id, 'continue', 'nobody is working on it', updated_at - interval '2 hours', 1, gen_random_uuid(), updated_at - interval '20 minutes', updated_at - interval '1 minute' from issues;
insert into sweep.recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, blocked_subject, created_at)
select gen_random_uuid(), gen_random_uuid(), 'issue', id, 'escalate', 'no attempt is left', updated_at - interval '2 hours', 1, :status = 'blocked', updated_at from issues;
