-- The tenant in the scan, so that one company can be swept alone; the agent as the group, so that its oldest work is examined
-- first however many workers there are; and the subjects in progress, of which the candidates are a share.

create or replace view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, within_calendar(i.updated_at) as since, i.company_id::text as tenant
from public.companies c
join public.issues i on i.company_id = c.id
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select from runs r where r.live and r.company_id = i.company_id and r.issue_key = i.id::text)
  and not exists (select from runs r where r.live and r.id = i.checkout_run_id)
  and not exists (select from runs r where r.live and r.id = i.execution_run_id)
  and not exists (select from pending_wakes w where w.company_id = i.company_id and w.issue_key = i.id::text
                  and w.created_at > statement_timestamp() - interval '1 minute');

create or replace view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union
select i.id, coalesce(i.assignee_agent_id, i.id), within_calendar(i.updated_at), i.company_id::text
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked');

create view issue_subjects as
select i.id as subject_id, i.company_id::text as tenant
from public.companies c
join public.issues i on i.company_id = c.id
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;
