-- What works on an issue or a step, and what is on its way to it.

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
{%- if "pending_wakes" not in brings %}

-- A wake is pending until it is served or dropped: one that was taken is no longer when its run has ended, whatever its status says.
-- One of an agent that was terminated is none, unless its run is live: nobody will take it up.
create view pending_wakes as
select w.id, w.issue_id, {% if steps %}w.plan_step_id, {% endif %}w.created_at,
       'wake ' || left(w.id::text, 8) || ' (' || w.status || ', by ' || left(w.requested_by, 100) || ')'
           || coalesce(', its run ' || left(run.id::text, 8) || ' is ' || run.status, ', no run yet') as detail
from wakes w
join agents a on a.id = w.agent_id
left join lateral (
    -- The live one, or the latest: apart, each by an index, however many a wake had.
    select * from (
        (select r.id, r.status, true as live from runs r where r.wake_id = w.id and r.status {{ live }} order by r.created_at desc, r.id limit 1)
        union all
        (select r.id, r.status, false from runs r where r.wake_id = w.id order by r.created_at desc, r.id limit 1)
    ) r order by live desc limit 1
) run on true
where w.status in ('queued', 'deferred', 'claimed') and coalesce(run.live, a.status <> 'terminated');
{%- endif %}
{%- if steps %}

-- The runs that work on a plan step: they name it, or were started by a wake that does. They work on the plan's issue, too.
create view worked_steps as
select r.plan_step_id as step_id from runs r
where r.plan_step_id is not null and r.status in ('queued', 'scheduled_retry', 'running')
union all
select w.plan_step_id from wakes w join runs r on r.wake_id = w.id
where w.plan_step_id is not null and r.status in ('queued', 'scheduled_retry', 'running');
{%- endif %}
