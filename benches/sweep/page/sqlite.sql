-- 100,000 issues, each continued once and then escalated, over the last four weeks.
begin;
with recursive n(n) as (select 0 union all select n+1 from n where n < 199) insert into agents (id, name) select printf('a%07d-0000-4000-8000-000000000000', n), 'Agent ' || n from n;
with recursive n(n) as (select 1 union all select n+1 from n where n < :escalations) insert into issues (id, tenant, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select printf('%08d-0000-4000-8000-000000000000', n), 'tenant ' || (n%5), 'ACM-' || n, 'Migrate customer ' || n, :status, printf('a%07d-0000-4000-8000-000000000000', n%200), strftime('%Y-%m-%dT%H:%M:%fZ','now','-29 days'), strftime('%Y-%m-%dT%H:%M:%fZ','now','-29 days'), strftime('%Y-%m-%dT%H:%M:%fZ','now', (-28*86400 + n*20) || ' seconds') from n;
insert into runs (id, agent_id, issue_id, status, created_at, finished_at) select 'r' || id, assignee_agent_id, id, 'failed', strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-1 hour'), strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-30 minutes') from issues;
insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id, created_at, settled_at)
select 'c' || id, 's', 'issue', id, 'continue', 'nobody is working on it', strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-2 hours'), 1, 'w' || id, strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-20 minutes'), strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-1 minutes') from issues;
insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, blocked_subject, created_at)
select 'e' || id, 's', 'issue', id, 'escalate', 'no attempt is left', strftime('%Y-%m-%dT%H:%M:%fZ', updated_at, '-2 hours'), 1, 1, updated_at from issues;
commit;
analyze;
