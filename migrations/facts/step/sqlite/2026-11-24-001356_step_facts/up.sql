-- The facts of a plan step that decide. docs/host-reference.md explains every column.

create view step_episodes as
select s.id as step_id, max(
    coalesce(s.started_at, s.updated_at),
    coalesce((select max(e.created_at) from recoveries e where e.kind = 'step' and e.subject_id = s.id and e.action = 'escalate'
              and e.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), '')
) as began_at
from plan_steps s;

-- The oldest continuation that is on its way to a step, in the form of issue_pending. A wake of the issue resumes the step as well
-- (decisions.md#linked-work), if the issue is of the plan's tenant.
create view step_pending as
select s.id as step_id, (
    select min(w.created_at || w.detail) from (
        select w.created_at, w.detail from pending_wakes w where w.plan_step_id = s.id
        union all
        {{ few_on_their_way() }}
    ) w
) as oldest
from plan_steps s
join plans plan on plan.id = s.plan_id
left join issues i on i.id = plan.issue_id and i.tenant = plan.tenant;

create view step_facts as
select
    s.id as subject_id,
    p.tenant,
    substr(p.title, 1, 1000) || ' #' || s.position as identifier,
    substr(s.title, 1, 1000) as title,
    s.status,
    p.id as plan_id,
    p.status as plan_status,
    s.position,
    coalesce(s.stalled_after_seconds, p.stalled_after_seconds) as stalled_after_seconds,
    p.agent_id,
    substr(a.name, 1, 1000) as agent_name,
    a.status as agent_status,
    i.id as issue_id,
    exists (select 1 from worked_steps r where r.id = s.id and r.has_live_run) as has_live_run,
    (select max(r.heard_of_at) from worked_steps r where r.id = s.id) as run_heard_of_at,
    (select max(r.lost_run) from worked_steps r where r.id = s.id) as lost_run,
    substr(pending.oldest, 1, 24) as pending_wake_since,
    substr(pending.oldest, 25) as pending_wake,
    coalesce(s.started_at, s.updated_at) as idle_since,
    episode.began_at as episode_began_at,
    (select count(*) from recoveries c where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at >= episode.began_at)
        - (select count(*) from unserved_continuations c where c.kind = 'step' and c.subject_id = s.id
           and c.created_at >= episode.began_at) as attempts,
    (select count(*) from unserved_continuations c where c.kind = 'step' and c.subject_id = s.id
     and c.created_at >= episode.began_at) as attempts_unserved,
    (select count(*) from recoveries c where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as attempts_last_day,
    (select max(c.created_at) from recoveries c where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue')
        as last_attempt_at,
    (select max({{ ended_at("r") }}) from recoveries c join observed_runs r on r.wake_id = c.wake_id
     where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue') as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, 0) as escalated,
    (select count(*) from recoveries e where e.kind = 'step' and e.subject_id = s.id and e.action = 'escalate'
     and e.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as observed_at
from plan_steps s
join plans p on p.id = s.plan_id
left join agents a on a.id = p.agent_id
-- A plan's issue counts only if it is of the plan's tenant.
left join issues i on i.id = p.issue_id and i.tenant = p.tenant
{{ open_recovery("step", "s.id") }}
join step_pending pending on pending.step_id = s.id
join step_episodes episode on episode.step_id = s.id;
