-- An hour and a half later: every second run that the first sweep woke has failed, and nothing came of the others.
update issues set started_at = started_at - interval '90 minutes', updated_at = updated_at - interval '90 minutes';
update sweep.recoveries set created_at = created_at - interval '90 minutes', settled_at = settled_at - interval '90 minutes',
    episode_began_at = episode_began_at - interval '90 minutes';
update heartbeat_runs set status = 'failed', created_at = created_at - interval '90 minutes',
    updated_at = now() - interval '80 minutes', started_at = now() - interval '85 minutes', finished_at = now() - interval '80 minutes'
where status = 'queued';
update agent_wakeup_requests set status = 'completed', created_at = created_at - interval '90 minutes';
insert into issues (id, company_id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
select ('10000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'c0000000-0000-4000-8000-000000000001', 'ACM-' || n,
       'Paint shed ' || n, 'in_progress', 'a0000000-0000-4000-8000-000000000002',
       now() - interval '5 hours', now() - interval '6 hours', now() - interval '30 seconds'
from generate_series(11, 12) n;
