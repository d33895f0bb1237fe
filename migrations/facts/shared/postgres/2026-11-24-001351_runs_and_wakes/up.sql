-- The runs that work on issues and steps, and the wakes that are on their way.

-- The runs of each issue. A continuation is a run that sweep or the host started to resume work; any other retry belongs to the
-- episode as well: decisions.md#a-retry-belongs-to-its-episode
-- The scalar subqueries are no `exists`, which PostgreSQL could plan as a hash of all wakes, built anew for every issue.
create view issue_runs as
select r.id, r.issue_id, r.wake_id, r.status, r.created_at, r.finished_at, r.retry_reason, {{ ended_at("r") }} as ended_at, r.status {{ live }} as live,
       coalesce(r.finished_at, r.heartbeat_at, r.created_at) as last_sign_at,
       coalesce(r.retry_reason = 'issue_continuation_needed', false)
           or coalesce((select w.reason = 'issue_continuation_needed' from wakes w where {{ is_of_run("w", "r") }}), false) as is_continuation,
       coalesce((select w.requested_by = 'sweep' from wakes w where {{ is_of_run("w", "r") }}), false) as is_ours
from observed_runs r
where r.issue_id is not null;
{%- if "pending_wakes" not in brings %}

-- The wakes that are pending: neither served nor dropped. A wake whose run has ended, or was heard of, is served, whatever its status says: then
-- the run itself says whether somebody is at work. Nobody will take up the wake of a terminated agent: it is pending only while its run is live.
create view pending_wakes as
select w.id, w.issue_id, {% if steps %}w.plan_step_id, {% endif %}w.created_at,
       'wake ' || left(w.id::text, 8) || ' (' || w.status || ', by ' || left(w.requested_by, 100) || ')'
           || coalesce(', its run ' || left(run.id::text, 8) || ' is ' || run.status, ', no run yet') as detail
from wakes w
join agents a on a.id = w.agent_id
left join lateral (
    -- The live run of the wake, or the latest: two queries, each by an index, however many runs the wake had.
    select * from (
        (select r.id, r.status, true as live from runs r where r.wake_id = w.id and {{ is_live("r") }} order by r.created_at desc, r.id limit 1)
        union all
        (select r.id, r.status, false from runs r where r.wake_id = w.id order by r.created_at desc, r.id limit 1)
    ) r order by live desc limit 1
) run on true
where w.status in ('queued', 'deferred', 'claimed') and coalesce(run.live, a.status <> 'terminated');
{%- endif %}
{%- if steps %}

-- The steps with runs that have not ended by their status, once for each: the run names the step, or a wake that names it started the run. The
-- run works on the plan's issue, too.
create view worked_steps as
select r.plan_step_id as id, r.id as run_id, r.is_live as has_live_run, {{ heard_of_at("r") }} as heard_of_at, {{ lost_run("r") }} as lost_run from observed_runs r
where r.plan_step_id is not null and r.status {{ live }}
union all
select w.plan_step_id, r.id, r.is_live, {{ heard_of_at("r") }}, {{ lost_run("r") }} from wakes w join observed_runs r on r.wake_id = w.id
where w.plan_step_id is not null and r.status {{ live }};
{%- endif %}
