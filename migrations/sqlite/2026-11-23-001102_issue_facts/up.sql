-- The issue as sweep sees it: who is nominated, and the facts that decide. docs/hosts.md explains every column.

-- The runs of each issue. A continuation is a run that was started to resume work, by sweep or by the host itself;
-- any retry, whatever its reason, belongs to the episode that it resumes.
create view issue_runs as
select r.id, r.issue_id, r.wake_id, r.status, r.created_at, r.finished_at, r.retry_reason,
       r.status in ('queued', 'scheduled_retry', 'running') as live,
       coalesce(r.retry_reason = 'issue_continuation_needed', 0)
           or exists (select 1 from wakes w where w.id = r.wake_id and w.reason = 'issue_continuation_needed') as is_continuation,
       exists (select 1 from wakes w where w.id = r.wake_id and w.requested_by = 'sweep') as is_ours
from runs r
where r.issue_id is not null;

-- Every continuation counts as an attempt, whoever queued it; ours are counted in the ledger, these are the others. Not one
-- `union all` of both: SQLite would read it whole for every issue, since it does not pass a joined column into its halves.
create view host_continuations as
select r.issue_id, r.created_at
from issue_runs r
where r.is_continuation
  and not exists (select 1 from recoveries c where c.kind = 'issue' and c.subject_id = r.issue_id and c.wake_id = r.wake_id);

-- A wake is pending until it is served or dropped: one that was taken is no longer when its run has ended, whatever its status says.
-- One of an agent that was terminated is none, unless its run is live: nobody will take it up.
create view pending_wakes as
select w.id, w.issue_id, w.plan_step_id, w.created_at,
       'wake ' || substr(w.id, 1, 8) || ' (' || w.status || ', by ' || substr(w.requested_by, 1, 100) || ')'
           || coalesce((select ', its run ' || substr(r.id, 1, 8) || ' is ' || r.status from runs r where r.wake_id = w.id
                        order by r.status in ('queued', 'scheduled_retry', 'running') desc, r.created_at desc limit 1), ', no run yet')
           as detail
from wakes w
join agents a on a.id = w.agent_id
where w.status in ('queued', 'deferred', 'claimed')
  and coalesce((select max(r.status in ('queued', 'scheduled_retry', 'running')) from runs r where r.wake_id = w.id), a.status <> 'terminated');

-- Wakes that nobody has taken up: no run of theirs has begun. One that is deferred waits for the run that is live meanwhile.
create view untaken_wakes as
select w.id,
       case when s.id is not null then 'step' when i.id is not null then 'issue' end as kind,
       coalesce(s.id, i.id) as subject_id,
       coalesce(p.tenant, i.tenant, 'default') as tenant,
       case when s.id is not null then substr(p.title, 1, 1000) || ' #' || s.position else i.identifier end as identifier,
       substr(coalesce(s.title, i.title), 1, 1000) as title,
       substr(a.name, 1, 1000) as agent_name,
       a.status as agent_status,
       w.created_at
from wakes w
join agents a on a.id = w.agent_id
left join issues i on i.id = w.issue_id
left join plan_steps s on s.id = w.plan_step_id
left join plans p on p.id = s.plan_id
where w.status in ('queued', 'deferred', 'claimed')
  and not exists (select 1 from runs r where r.wake_id = w.id and r.status <> 'queued')
  and not (w.status = 'deferred'
           and exists (select 1 from runs r where (r.issue_id = w.issue_id or r.plan_step_id = w.plan_step_id)
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
  and not exists (select 1 from runs r where r.wake_id = w.id);

-- The steps on which a run works: it names the step, or was started by a wake that does. Not one `union all` of both: SQLite
-- would read it whole for every step.
-- A run that works on a step works on the plan's issue, too.
create view worked_steps as
select s.id as step_id from plan_steps s
where exists (select 1 from runs r where r.plan_step_id = s.id and r.status in ('queued', 'scheduled_retry', 'running'))
   or exists (select 1 from wakes w join runs r on r.wake_id = w.id
              where w.plan_step_id = s.id and r.status in ('queued', 'scheduled_retry', 'running'));

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
  and (c.status = 'queued' or c.status = 'delivered' and s.ended_at <= c.updated_at and c.updated_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute'));

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
  and not exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
  -- As issue_sessions, which would read the issues once more.
  and not exists (select 1 from sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null
                  and s.tenant = i.tenant and (s.agent_id is null or s.agent_id = i.assignee_agent_id))
  and not exists (select 1 from pending_wakes w where w.issue_id = i.id
                  and w.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not exists (select 1 from unattended_issues u where u.subject_id = i.id);

-- The oldest of what is on its way to an issue: when it was made, which is 24 characters, and what it is.
create view issue_pending as
select i.id as issue_id, (
    select min(oldest) from (
        select min(w.created_at || w.detail) as oldest from pending_wakes w where w.issue_id = i.id
        union all
        select min(w.created_at || w.detail) from plans p join plan_steps s on s.plan_id = p.id join pending_wakes w on w.plan_step_id = s.id
        where p.issue_id = i.id and p.tenant = i.tenant
        union all
        -- A relaunch resumes its session's issue.
        select min(r.created_at || 'the relaunch of session ' || substr(r.session_id, 1, 8)) from issue_relaunches r where r.issue_id = i.id
    )
) as oldest
from issues i;

-- max() of nothing is null, and the scalar max() of anything and null too: '' sorts before every timestamp.
create view issue_episodes as
select i.id as issue_id, max(
    coalesce(i.started_at, i.created_at),
    coalesce((select max(r.created_at) from issue_runs r where r.issue_id = i.id and r.retry_reason is null and not r.is_continuation and not r.is_ours), ''),
    coalesce((select max(e.created_at) from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
              -- What a clock that was ahead has dated in the future began no episode.
              and e.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), '')
) as began_at
from issues i;

create view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    substr(i.title, 1, 1000) as title,
    i.status,
    i.assignee_agent_id as agent_id,
    substr(a.name, 1, 1000) as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    exists (select 1 from issue_runs r where r.issue_id = i.id and r.live)
        or exists (select 1 from plans p join plan_steps s on s.plan_id = p.id join worked_steps r on r.step_id = s.id
                   where p.issue_id = i.id and p.tenant = i.tenant)
        or exists (select 1 from runs r where r.id = i.checkout_run_id and r.status in ('queued', 'scheduled_retry', 'running'))
        or exists (select 1 from issue_sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null)
        as has_live_run,
    substr(pending.oldest, 1, 24) as pending_wake_since,
    substr(pending.oldest, 25) as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 1) then substr(i.waiting_for, 1, 1000)
         when i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now') then coalesce('until ' || strftime('%Y-%m-%d %H:%M', i.wait_until), 'for ever')
         when exists (select 1 from issue_sessions s where s.issue_id = i.id and s.status = 'paused' and s.ended_at is null) then 'its session is paused' end
        as declared_wait,
    cast(null as text) as obstacle,
    (select r.id from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1) as last_run_id,
    (select max(r.finished_at) from issue_runs r where r.issue_id = i.id and not r.live) as last_run_ended_at,
    (select 'run ' || substr(r.id, 1, 8) || ' ' || replace(r.status, '_', ' ') from issue_runs r
     where r.issue_id = i.id and not r.live order by r.created_at desc, r.id limit 1) as last_run_end,
    cast(null as text) as host_plan,
    cast(null as text) as unreachable,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    max(
        i.updated_at,
        coalesce((select max(coalesce(r.finished_at, r.created_at)) from issue_runs r where r.issue_id = i.id), ''),
        coalesce((select max(coalesce(r.finished_at, r.created_at)) from plans p join plan_steps s on s.plan_id = p.id
                  join runs r on r.plan_step_id = s.id where p.issue_id = i.id and p.tenant = i.tenant), ''),
        coalesce((select max(max(coalesce(s.last_activity_at, ''), coalesce(s.ended_at, ''))) from sessions s
                  where s.issue_id = i.id and s.tenant = i.tenant), '')
    ) as idle_since,
    episode.began_at as episode_began_at,
    max(
        (select count(*) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'
         and c.created_at >= episode.began_at)
            + (select count(*) from host_continuations c where c.issue_id = i.id and c.created_at >= episode.began_at),
        -- The ledger's number outlives runs that the host prunes.
        (select coalesce(max(c.attempt), 0) from recoveries c where c.kind = 'issue' and c.subject_id = i.id
         and c.action = 'continue' and c.created_at >= episode.began_at)
    ) - (select count(*) from unserved_continuations c where c.kind = 'issue' and c.subject_id = i.id
         and c.created_at >= episode.began_at) as attempts,
    (select count(*) from unserved_continuations c where c.kind = 'issue' and c.subject_id = i.id
     and c.created_at >= episode.began_at) as attempts_unserved,
    (select count(*) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'
     and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        + (select count(*) from host_continuations c where c.issue_id = i.id and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        as attempts_last_day,
    nullif(max(
        coalesce((select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'), ''),
        coalesce((select max(c.created_at) from host_continuations c where c.issue_id = i.id), '')
    ), '') as last_attempt_at,
    (select max(r.finished_at) from issue_runs r where r.issue_id = i.id and (r.is_continuation or r.is_ours)) as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.since >= episode.began_at, 0) as escalated,
    (select count(*) from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
     and e.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as observed_at
from issues i
cross join host_behavior behavior
left join agents a on a.id = i.assignee_agent_id
left join open_recoveries o on o.kind = 'issue' and o.subject_id = i.id
                      and not (o.blocked_subject and i.status = 'blocked')
join issue_pending pending on pending.issue_id = i.id
join issue_episodes episode on episode.issue_id = i.id;
