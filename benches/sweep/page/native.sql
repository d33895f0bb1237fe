-- 100,000 issues, each continued once and then escalated, over the last four weeks.
set search_path = sweep; set session_replication_role = replica;
insert into agents (id, name) select md5('agent ' || n)::uuid, 'Agent ' || n from generate_series(0, 199) n;
insert into issues (id, tenant, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select md5(n::text)::uuid, 'tenant ' || n % 5, 'ACM-' || n, 'Migrate customer ' || n, :status, md5('agent ' || n % 200)::uuid, now() - interval '29 days', now() - interval '29 days', now() - interval '28 days' + n * interval '20 seconds' from generate_series(1, :escalations) n;
insert into runs (agent_id, issue_id, status, created_at, finished_at) select assignee_agent_id, id, 'failed', updated_at - interval '1 hour', updated_at - interval '30 minutes' from issues;
insert into sweeps (id, host, version, started_at, finished_at, ended, exit_code, succeeded) select gen_random_uuid(), 'native', '0.1.0', now() - n * interval '5 minutes', now() - n * interval '5 minutes' + interval '2 seconds', 'completed', 0, true from generate_series(1, 8000) n;
insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id, created_at, settled_at)
select gen_random_uuid(), gen_random_uuid(), 'issue', id, 'continue', 'nobody is working on it', updated_at - interval '2 hours', 1, gen_random_uuid(), updated_at - interval '20 minutes', updated_at - interval '1 minute' from issues;
insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, blocked_subject, created_at)
select gen_random_uuid(), gen_random_uuid(), 'issue', id, 'escalate', 'no attempt is left', updated_at - interval '2 hours', 1, :status = 'blocked', updated_at from issues;
