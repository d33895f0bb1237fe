-- The floor: one statement that queues a wake for every stranded issue and records each in the ledger. It locks
-- nothing, knows no limits and no reason to leave an issue alone, and one bad row fails them all.
set search_path = sweep;
with stranded as (
    select i.id, i.assignee_agent_id,
           (select r.id from runs r where r.issue_id = i.id order by r.created_at desc limit 1) as run_id
    from issues i
    where i.status = 'in_progress'
      and not exists (select from runs r
                      where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
      and not exists (select from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed'))
), queued as (
    insert into wakes (agent_id, issue_id, reason, payload, requested_by)
    select assignee_agent_id, id, 'issue_continuation_needed',
           jsonb_build_object('issueId', id, 'retryOfRunId', run_id, 'wakeReason', 'issue_continuation_needed',
                              'retryReason', 'issue_continuation_needed'), 'sweep'
    from stranded
    returning id, agent_id, issue_id)
insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, wake_id, agent_id)
select gen_random_uuid(), '00000000-0000-0000-0000-000000000000', 'issue', issue_id, 'continue',
       'nobody is working on it', now(), 1, id, agent_id
from queued;
