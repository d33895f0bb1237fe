-- The candidates among the issues.
{%- set issues_to_scan = "open_issues" if "open_issues" in brings else "issues" %}

-- The issues in progress, healthy or not. The candidates are a share of them.
create view issue_subjects as
select i.id as subject_id, i.assignee_agent_id as group_id, i.tenant from {{ issues_to_scan }} i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;

-- Issues in progress that an agent has, and on which at first sight nobody works. A wake hides its issue for a minute only:
-- decisions.md#a-wake-hides-its-issue-for-a-minute. The tenant is in the scan, so that one company can be
-- swept alone; the agent is the group, so that its oldest work is examined first however many workers there are.
create view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from {{ issues_to_scan }} i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select 1 from runs r where r.issue_id = i.id and {{ is_at_work("r") }}
                  and (r.heartbeat_at is null or r.lease_seconds is not null or {{ is_fresh("r.heartbeat_at") }}))
{%- if sessions %}
  -- The condition of issue_sessions; that view would read the issues once more.
  and not exists (select 1 from sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null
                  and s.tenant = i.tenant and (s.agent_id is null or s.agent_id = i.assignee_agent_id))
{%- endif %}
  and not ({{ has_fresh_wake("issue_id", "i.id") }});

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union all
select i.id, coalesce(i.assignee_agent_id, i.id), i.updated_at, i.tenant
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked')
  and not ({{ is_in("u.subject_id", "unattended_issues u where u.subject_id is not null", "r.subject_id") }});
