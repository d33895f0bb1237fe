-- The tenant in the scan, so that one company can be swept alone; the agent as the group, so that its oldest work is examined
-- first however many workers there are; and the subjects in progress, of which the candidates are a share.

drop view step_candidates;
drop view unattended_steps;
drop view issue_candidates;
drop view unattended_issues;

create view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
  and not exists (select 1 from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
                  and w.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute'));

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not exists (select 1 from unattended_issues u where u.subject_id = i.id);

create view unattended_steps as
select s.id as subject_id, coalesce(p.agent_id, p.id) as group_id, coalesce(s.started_at, s.updated_at) as since, p.tenant
from plan_steps s join plans p on p.id = s.plan_id and p.status in ('executing', 'stalled')
where s.status = 'in_progress'
  and not exists (select 1 from worked_steps r where r.step_id = s.id)
  and not exists (select 1 from wakes w where w.plan_step_id = s.id and w.status in ('queued', 'deferred', 'claimed')
                  and w.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute'));

create view step_candidates as
select subject_id, group_id, since, tenant from unattended_steps
union all
select s.id, coalesce(p.agent_id, p.id), coalesce(s.started_at, s.updated_at), p.tenant
from recoveries r join plan_steps s on s.id = r.subject_id join plans p on p.id = s.plan_id
where r.kind = 'step' and r.settled_at is null
  and not exists (select 1 from unattended_steps u where u.subject_id = s.id);

create view issue_subjects as
select i.id as subject_id, i.tenant from issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;

create view step_subjects as
select s.id as subject_id, p.tenant
from plan_steps s join plans p on p.id = s.plan_id and p.status in ('executing', 'stalled')
where s.status = 'in_progress';

-- The scan still asks the index alone.
drop index issues_in_progress;
create index issues_in_progress on issues (updated_at, id, assignee_agent_id, tenant)
    where status = 'in_progress' and assignee_agent_id is not null and assignee_user_id is null;
