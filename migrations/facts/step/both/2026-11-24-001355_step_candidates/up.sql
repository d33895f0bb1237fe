-- The candidates among the steps of plans.

-- The steps in progress, healthy or not. The candidates are a share of them.
create view step_subjects as
select s.id as subject_id, coalesce(p.agent_id, p.id) as group_id, p.tenant
from plan_steps s join plans p on p.id = s.plan_id and p.status in ('executing', 'stalled')
where s.status = 'in_progress';

-- Steps in progress of an open plan, on which at first sight nobody works. Rust decides how long is too long.
create view unattended_steps as
select s.id as subject_id, coalesce(p.agent_id, p.id) as group_id, coalesce(s.started_at, s.updated_at) as since, p.tenant
from plan_steps s join plans p on p.id = s.plan_id and p.status in ('executing', 'stalled')
where s.status = 'in_progress'
  and not ({{ is_in("r.id", "worked_steps r where (r.has_live_run or " ~ is_fresh("r.heard_of_at") ~ ")", "s.id") }})
  and not ({{ has_fresh_wake("plan_step_id", "s.id") }});

create view step_candidates as
select subject_id, group_id, since, tenant from unattended_steps
union all
select s.id, coalesce(p.agent_id, p.id), coalesce(s.started_at, s.updated_at), p.tenant
from recoveries r join plan_steps s on s.id = r.subject_id join plans p on p.id = s.plan_id
where r.kind = 'step' and r.settled_at is null
  and not ({{ is_in("u.subject_id", "unattended_steps u where u.subject_id is not null", "r.subject_id") }});
