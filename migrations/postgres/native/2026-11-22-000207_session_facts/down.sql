create or replace view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
  and not exists (select from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
                  and w.created_at > statement_timestamp() - interval '1 minute');

create or replace view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    i.title,
    i.status,
    i.assignee_agent_id as agent_id,
    a.name as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    coalesce(run.any_live, false)
        or exists (select from plans p join plan_steps s on s.plan_id = p.id join live_step_runs r on r.step_id = s.id
                   where p.issue_id = i.id)
        or coalesce((select r.status in ('queued', 'scheduled_retry', 'running') from runs r where r.id = i.checkout_run_id), false)
        as has_live_run,
    least(
        (select min(w.created_at) from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')),
        (select min(w.created_at) from plans p join plan_steps s on s.plan_id = p.id join wakes w on w.plan_step_id = s.id
         where p.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed'))
    ) as pending_wake_since,
    case when i.waiting_for is not null and coalesce(i.wait_until > statement_timestamp(), true) then i.waiting_for
         when i.wait_until > statement_timestamp() then coalesce('until ' || to_char(i.wait_until, 'YYYY-MM-DD HH24:MI'), 'for ever') end
        as declared_wait,
    null::text as obstacle,
    run.last_id as last_run_id,
    greatest(i.updated_at, run.last_sign_at,
        (select max(coalesce(r.finished_at, r.created_at))
         from plans p join plan_steps s on s.plan_id = p.id join runs r on r.plan_step_id = s.id where p.issue_id = i.id)
    ) as idle_since,
    episode.began_at as episode_began_at,
    continuation.since_episode as attempts,
    continuation.last_day as attempts_last_day,
    continuation.last_at as last_attempt_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.created_at >= episode.began_at, false) as escalated,
    escalation.last_day as escalations_last_day,
    o.id as open_recovery_id,
    o.created_at as open_recovery_at,
    statement_timestamp() as observed_at
from issues i
left join agents a on a.id = i.assignee_agent_id
left join recoveries o on o.kind = 'issue' and o.subject_id = i.id and o.settled_at is null
                      and not (o.blocked_subject and i.status = 'blocked')
-- One pass each over its runs, its escalations and its continuations.
cross join lateral (
    select bool_or(r.live) as any_live,
           (array_agg(r.id order by r.created_at desc, r.id))[1] as last_id,
           max(coalesce(r.finished_at, r.created_at)) as last_sign_at,
           max(r.created_at) filter (where r.retry_reason is null and not r.is_continuation and not r.is_ours) as last_own_at
    from issue_runs r where r.issue_id = i.id
) run
cross join lateral (
    select max(e.created_at) as last_at,
           count(*) filter (where e.created_at > statement_timestamp() - interval '24 hours') as last_day
    from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
) escalation
cross join lateral (
    select greatest(coalesce(i.started_at, i.created_at), run.last_own_at, escalation.last_at) as began_at
) episode
cross join lateral (
    select greatest(count(*) filter (where c.created_at >= episode.began_at),
                    max(c.attempt) filter (where c.created_at >= episode.began_at)) as since_episode,
           count(*) filter (where c.created_at > statement_timestamp() - interval '24 hours') as last_day,
           max(c.created_at) as last_at
    from issue_continuations c where c.issue_id = i.id
) continuation;

drop view session_facts;
drop view issue_relaunches;
drop view issue_sessions;
drop view session_subjects;
drop view session_candidates;
drop view unattended_sessions;
