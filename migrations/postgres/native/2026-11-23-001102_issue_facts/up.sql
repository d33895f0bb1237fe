-- The issue as sweep sees it: who is nominated, and the facts that decide. docs/hosts.md explains every column.

-- The runs of each issue. A continuation is a run that was started to resume work, by sweep or by the host itself;
-- any retry, whatever its reason, belongs to the episode that it resumes.
-- A value, not an `exists`: that could be planned as a hash of all wakes, built anew for every issue.
create view issue_runs as
select r.id, r.issue_id, r.wake_id, r.status, r.created_at, r.finished_at, r.retry_reason,
       r.status in ('queued', 'scheduled_retry', 'running') as live,
       coalesce(r.retry_reason = 'issue_continuation_needed', false)
           or coalesce((select w.reason = 'issue_continuation_needed' from wakes w where w.id = r.wake_id), false) as is_continuation,
       coalesce((select w.requested_by = 'sweep' from wakes w where w.id = r.wake_id), false) as is_ours
from runs r
where r.issue_id is not null;

-- A wake is pending until it is served or dropped: one that was taken is no longer when its run has ended, whatever its status says.
-- One of an agent that was terminated is none, unless its run is live: nobody will take it up.
create view pending_wakes as
select w.id, w.issue_id, w.plan_step_id, w.created_at,
       'wake ' || left(w.id::text, 8) || ' (' || w.status || ', by ' || left(w.requested_by, 100) || ')'
           || coalesce(', its run ' || left(run.id::text, 8) || ' is ' || run.status, ', no run yet') as detail
from wakes w
join agents a on a.id = w.agent_id
left join lateral (
    select r.id, r.status, r.status in ('queued', 'scheduled_retry', 'running') as live from runs r
    where r.wake_id = w.id order by live desc, r.created_at desc limit 1
) run on true
where w.status in ('queued', 'deferred', 'claimed') and coalesce(run.live, a.status <> 'terminated');

-- Wakes that nobody has taken up: no run of theirs has begun. One that is deferred waits for the run that is live meanwhile.
create view untaken_wakes as
select w.id,
       case when s.id is not null then 'step' when i.id is not null then 'issue' end as kind,
       coalesce(s.id, i.id) as subject_id,
       coalesce(p.tenant, i.tenant, 'default') as tenant,
       case when s.id is not null then left(p.title, 1000) || ' #' || s.position else i.identifier end as identifier,
       left(coalesce(s.title, i.title), 1000) as title,
       left(a.name, 1000) as agent_name,
       a.status as agent_status,
       w.created_at
from wakes w
join agents a on a.id = w.agent_id
left join issues i on i.id = w.issue_id
left join plan_steps s on s.id = w.plan_step_id
left join plans p on p.id = s.plan_id
where w.status in ('queued', 'deferred', 'claimed')
  and not exists (select from runs r where r.wake_id = w.id and r.status <> 'queued')
  and not (w.status = 'deferred'
           and exists (select from runs r where (r.issue_id = w.issue_id or r.plan_step_id = w.plan_step_id)
                       and r.status in ('queued', 'scheduled_retry', 'running')));

-- When wakes were taken up: the beginnings of their runs.
create view wake_pickups as
select r.wake_id, r.created_at as taken_at from runs r where r.wake_id is not null and r.status <> 'queued';

-- The wakes of the ledger that were dropped, or whose agent was terminated, before any run: none of them is an attempt.
create view unserved_continuations as
select c.kind, c.subject_id, c.created_at
from recoveries c join wakes w on w.id = c.wake_id join agents a on a.id = w.agent_id
where c.action = 'continue'
  and (w.status in ('cancelled', 'skipped') or a.status = 'terminated' and w.status in ('queued', 'deferred', 'claimed'))
  and not exists (select from runs r where r.wake_id = w.id);

-- The runs that work on a plan step: they name it, or were started by a wake that does. They work on the plan's issue, too.
create view live_step_runs as
select r.plan_step_id as step_id from runs r
where r.plan_step_id is not null and r.status in ('queued', 'scheduled_retry', 'running')
union all
select w.plan_step_id from wakes w join runs r on r.wake_id = w.id
where w.plan_step_id is not null and r.status in ('queued', 'scheduled_retry', 'running');

-- The sessions that work on an issue of their tenant: its assignee's, or nobody's in particular.
create view issue_sessions as
select s.id, i.id as issue_id, s.status, s.started_at, s.last_activity_at, s.ended_at
from issues i join sessions s on s.issue_id = i.id and s.tenant = i.tenant
where s.agent_id is null or s.agent_id = i.assignee_agent_id;

-- Relaunches on their way; one that was taken a moment ago is, until its process is up.
create view issue_relaunches as
select s.issue_id, s.id as session_id, c.created_at
from issue_sessions s join session_commands c on c.session_id = s.id
where s.status = 'active' and c.command = 'relaunch'
  and (c.status = 'queued' or c.status = 'delivered' and s.ended_at <= c.updated_at and c.updated_at > statement_timestamp() - interval '1 minute');

-- All that is on its way to an issue: its own wakes, those of the steps of its plans, and relaunches of its sessions. They are one agent's
-- work: while one of them is pending, no sweep queues another.
create view issue_continuations as
select w.issue_id, null::uuid as session_id, w.created_at, w.detail from pending_wakes w where w.issue_id is not null
union all
-- Another tenant's issue is none of the plan's business.
select i.id, null, w.created_at, w.detail
from issues i join plans p on p.issue_id = i.id and p.tenant = i.tenant
join plan_steps s on s.plan_id = p.id join pending_wakes w on w.plan_step_id = s.id
union all
select r.issue_id, r.session_id, r.created_at, 'the relaunch of session ' || left(r.session_id::text, 8) from issue_relaunches r;

-- In progress, healthy or not: what the candidates are a share of.
create view issue_subjects as
select i.id as subject_id, i.assignee_agent_id as group_id, i.tenant from issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;

-- In progress, an agent's, and at first sight nobody is on it. A wake hides its issue for a minute only,
-- so that one that is stuck is seen, and so is one that lies in the future. The tenant is in the scan, so that one company can be
-- swept alone; the agent is the group, so that its oldest work is examined first however many workers there are.
create view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
  -- As issue_sessions, which would read the issues once more.
  and not exists (select from sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null
                  and s.tenant = i.tenant and (s.agent_id is null or s.agent_id = i.assignee_agent_id))
  -- Not `between`, of which the planner expects so few that it would compare each issue with each wake.
  and not exists (select from pending_wakes w where w.issue_id = i.id
                  and w.created_at > statement_timestamp() - interval '1 minute' and (w.created_at > statement_timestamp()) is not true);

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not exists (select from unattended_issues u where u.subject_id = i.id);

create view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    left(i.title, 1000) as title,
    i.status,
    i.assignee_agent_id as agent_id,
    left(a.name, 1000) as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    exists (select from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
        or exists (select from plans p join plan_steps s on s.plan_id = p.id join live_step_runs r on r.step_id = s.id
                   where p.issue_id = i.id and p.tenant = i.tenant)
        or coalesce((select r.status in ('queued', 'scheduled_retry', 'running') from runs r where r.id = i.checkout_run_id), false)
        or exists (select from issue_sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null)
        as has_live_run,
    pending.created_at as pending_wake_since,
    pending.detail as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > statement_timestamp(), true) then left(i.waiting_for, 1000)
         when i.wait_until > statement_timestamp() then coalesce('until ' || to_char(i.wait_until, 'YYYY-MM-DD HH24:MI'), 'for ever')
         when exists (select from issue_sessions s where s.issue_id = i.id and s.status = 'paused' and s.ended_at is null) then 'its session is paused' end
        as declared_wait,
    null::text as obstacle,
    run.last_id as last_run_id,
    run.last_ended_at as last_run_ended_at,
    run.last_end as last_run_end,
    null::text as host_plan,
    null::text as unreachable,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    greatest(i.updated_at, run.last_sign_at,
        (select max(coalesce(r.finished_at, r.created_at))
         from plans p join plan_steps s on s.plan_id = p.id join runs r on r.plan_step_id = s.id
         where p.issue_id = i.id and p.tenant = i.tenant),
        (select max(greatest(s.last_activity_at, s.ended_at)) from sessions s where s.issue_id = i.id and s.tenant = i.tenant)
    ) as idle_since,
    episode.began_at as episode_began_at,
    continuation.since_episode - unserved.since_episode as attempts,
    unserved.since_episode as attempts_unserved,
    continuation.last_day as attempts_last_day,
    continuation.last_at as last_attempt_at,
    run.last_continuation_ended_at as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.since >= episode.began_at, false) as escalated,
    escalation.last_day as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from issues i
cross join host_behavior behavior
left join agents a on a.id = i.assignee_agent_id
left join lateral (
    select c.created_at, c.detail from issue_continuations c where c.issue_id = i.id order by c.created_at limit 1
) pending on true
left join open_recoveries o on o.kind = 'issue' and o.subject_id = i.id
                      and not (o.blocked_subject and i.status = 'blocked')
-- One pass each over its latest runs, its escalations and its continuations. Of a million runs the latest thousand tell enough.
cross join lateral (
    select (array_agg(r.id order by r.created_at desc, r.id))[1] as last_id,
           max(coalesce(r.finished_at, r.created_at)) as last_sign_at,
           max(r.finished_at) filter (where not r.live) as last_ended_at,
           (array_agg('run ' || left(r.id::text, 8) || ' ' || replace(r.status, '_', ' ') order by r.created_at desc, r.id)
               filter (where not r.live))[1] as last_end,
           max(r.finished_at) filter (where r.is_continuation or r.is_ours) as last_continuation_ended_at,
           max(r.created_at) filter (where r.retry_reason is null and not r.is_continuation and not r.is_ours) as last_own_at,
           -- The continuations that the host queued itself; ours are counted in the ledger.
           array_agg(r.created_at) filter (
               where r.is_continuation
                 and not exists (select from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.wake_id = r.wake_id)
           ) as continued_at
    from (select * from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1000) r
) run
cross join lateral (
    -- What a clock that was ahead has dated in the future began no episode.
    select max(e.created_at) filter (where e.created_at <= statement_timestamp()) as last_at,
           count(*) filter (where e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day
    from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
) escalation
cross join lateral (
    select greatest(coalesce(i.started_at, i.created_at), run.last_own_at, escalation.last_at) as began_at
) episode
-- Every continuation counts as an attempt, whoever queued it; the ledger's number outlives runs that the host prunes.
cross join lateral (
    select greatest(count(*) filter (where c.created_at >= episode.began_at),
                    max(c.attempt) filter (where c.created_at >= episode.began_at)) as since_episode,
           count(*) filter (where c.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day,
           max(c.created_at) as last_at
    from (select r.created_at, r.attempt from recoveries r where r.kind = 'issue' and r.subject_id = i.id and r.action = 'continue'
          union all
          select unnest(run.continued_at), null) c
) continuation
cross join lateral (
    select count(*) as since_episode from unserved_continuations c
    where c.kind = 'issue' and c.subject_id = i.id and c.created_at >= episode.began_at
) unserved;
