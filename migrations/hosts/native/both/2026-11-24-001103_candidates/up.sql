-- Who is nominated, and what the facts of all kinds go by. docs/host-reference.md explains every column.

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
  and (c.status = 'queued' or c.status = 'delivered' and s.ended_at <= c.updated_at and c.updated_at > {{ before(at_statement, 60) }});

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
  -- Not `between`, of which PostgreSQL expects so few that it would compare each issue with each wake.
  and not exists (select 1 from pending_wakes w where w.issue_id = i.id
                  and w.created_at > {{ before(at_statement, 60) }} and (w.created_at > {{ at_statement }}) is not true);

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not exists (select 1 from unattended_issues u where u.subject_id = i.id);

-- In progress, healthy or not: what the candidates are a share of.
create view step_subjects as
select s.id as subject_id, coalesce(p.agent_id, p.id) as group_id, p.tenant
from plan_steps s join plans p on p.id = s.plan_id and p.status in ('executing', 'stalled')
where s.status = 'in_progress';

-- In progress, of an open plan, and at first sight nobody is on it; how long is too long is decided in Rust.
create view unattended_steps as
select s.id as subject_id, coalesce(p.agent_id, p.id) as group_id, coalesce(s.started_at, s.updated_at) as since, p.tenant
from plan_steps s join plans p on p.id = s.plan_id and p.status in ('executing', 'stalled')
where s.status = 'in_progress'
  and not exists (select 1 from worked_steps r where r.step_id = s.id)
  -- Not `between`, of which PostgreSQL expects so few that it would compare each step with each wake.
  and not exists (select 1 from pending_wakes w where w.plan_step_id = s.id
                  and w.created_at > {{ before(at_statement, 60) }} and (w.created_at > {{ at_statement }}) is not true);

create view step_candidates as
select subject_id, group_id, since, tenant from unattended_steps
union all
select s.id, coalesce(p.agent_id, p.id), coalesce(s.started_at, s.updated_at), p.tenant
from recoveries r join plan_steps s on s.id = r.subject_id join plans p on p.id = s.plan_id
where r.kind = 'step' and r.settled_at is null
  and not exists (select 1 from unattended_steps u where u.subject_id = s.id);

-- Active, and not ended well: what the candidates are a share of.
create view session_subjects as
select s.id as subject_id, coalesce(s.agent_id, s.id) as group_id, s.tenant
from sessions s where s.status = 'active' and (s.ended_at is null or s.exit_code is distinct from 0);

-- Active, and its process ended, its agent waits for a person, or it made no step forward for a second, the shortest threshold
-- that there is. Whether its output repeats itself is decided in Rust.
create view unattended_sessions as
select s.id as subject_id, coalesce(s.agent_id, s.id) as group_id,
       coalesce(s.ended_at, s.last_activity_at, s.started_at, s.created_at) as since, s.tenant
from sessions s
where s.status = 'active' and not s.stall_paused
  and case when s.ended_at is not null
           then s.exit_code is distinct from 0
                and not exists (select 1 from issues i where i.id = s.issue_id and i.tenant = s.tenant and i.status in ('done', 'cancelled'))
           -- One that nobody can have shown would otherwise keep it out of sight for ever.
           else coalesce(s.last_progress_at, s.started_at, s.created_at) < {{ before(at_statement, 1) }}
                or coalesce(s.last_progress_at, s.started_at, s.created_at) > {{ after(at_statement, 86400) }}
                or s.agent_state in ('waiting', 'exhausted') end;

create view session_candidates as
select subject_id, group_id, since, tenant from unattended_sessions
union all
select s.id, coalesce(s.agent_id, s.id), coalesce(s.ended_at, s.last_activity_at, s.started_at, s.created_at), s.tenant
from recoveries r join sessions s on s.id = r.subject_id
where r.kind = 'session' and r.settled_at is null
  and not exists (select 1 from unattended_sessions u where u.subject_id = s.id);
