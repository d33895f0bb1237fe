-- The facts of a plan step that decide. docs/host-reference.md explains every column.

create view step_facts as
select
    s.id as subject_id,
    p.tenant,
    left(p.title, 1000) || ' #' || s.position as identifier,
    left(s.title, 1000) as title,
    s.status,
    p.id as plan_id,
    p.status as plan_status,
    s.position,
    coalesce(s.stalled_after_seconds, p.stalled_after_seconds) as stalled_after_seconds,
    p.agent_id,
    left(a.name, 1000) as agent_name,
    a.status as agent_status,
    i.id as issue_id,
    coalesce(unended.has_live_run, false) as has_live_run,
    unended.heard_of_at as run_heard_of_at,
    unended.lost_run,
    pending.created_at as pending_wake_since,
    pending.detail as pending_wake,
    coalesce(s.started_at, s.updated_at) as idle_since,
    episode.began_at as episode_began_at,
    continuation.since_episode - unserved.since_episode as attempts,
    unserved.since_episode as attempts_unserved,
    continuation.last_day as attempts_last_day,
    continuation.last_at as last_attempt_at,
    (select max({{ ended_at("r") }}) from recoveries c join observed_runs r on r.wake_id = c.wake_id
     where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue') as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, false) as escalated,
    (select count(*) from recoveries e where e.kind = 'step' and e.subject_id = s.id and e.action = 'escalate'
     and e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from plan_steps s
join plans p on p.id = s.plan_id
left join agents a on a.id = p.agent_id
-- A plan's issue counts only if it is of the plan's tenant.
left join issues i on i.id = p.issue_id and i.tenant = p.tenant
left join lateral (
    select min(c.created_at) as created_at, (array_agg(c.detail order by c.created_at))[1] as detail
    from (
        select w.created_at, w.detail from pending_wakes w where w.plan_step_id = s.id
        union all
        -- A wake of the issue resumes the step as well: decisions.md#linked-work
        select w.created_at, w.detail from ({{ few_on_their_way() }}
        ) w
    ) c
) pending on true
left join lateral (
    select bool_or(r.has_live_run) as has_live_run, max(r.heard_of_at) as heard_of_at, max(r.lost_run) as lost_run
    from worked_steps r where r.id = s.id
) unended on true
{{ open_recovery("step", "s.id") }}
cross join lateral (
    select greatest(
        coalesce(s.started_at, s.updated_at),
        (select max(e.created_at) from recoveries e where e.kind = 'step' and e.subject_id = s.id and e.action = 'escalate'
         and e.created_at <= statement_timestamp())
    ) as began_at
) episode
left join lateral (
    select count(*) filter (where c.created_at >= episode.began_at) as since_episode,
           count(*) filter (where c.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day,
           max(c.created_at) as last_at
    from recoveries c where c.kind = 'step' and c.subject_id = s.id and c.action = 'continue'
) continuation on true
left join lateral (
    select count(*) as since_episode from unserved_continuations c
    where c.kind = 'step' and c.subject_id = s.id and c.created_at >= episode.began_at
) unserved on true;
