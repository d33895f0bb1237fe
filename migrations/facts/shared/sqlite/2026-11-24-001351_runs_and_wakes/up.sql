-- The runs that work on issues and steps, and the wakes that are on their way.

-- The runs of each issue. A continuation is a run that sweep or the host started to resume work; any other retry belongs to the
-- episode as well: decisions.md#a-retry-belongs-to-its-episode. An attempt is a continuation, or of any wake of sweep's.
create view issue_runs as
select r.id, r.issue_id, r.wake_id, r.status, r.created_at, r.finished_at, r.retry_reason, {{ ended_at("r") }} as ended_at, r.status {{ live }} as live,
       coalesce(r.finished_at, r.heartbeat_at, r.created_at) as last_sign_at,
       coalesce(r.retry_reason = 'issue_continuation_needed', 0)
           or exists (select 1 from wakes w where {{ is_of_run("w", "r") }} and w.reason = 'issue_continuation_needed') as is_continuation,
       coalesce(r.retry_reason = 'issue_continuation_needed', 0)
           or exists (select 1 from wakes w
                      where {{ is_of_run("w", "r") }} and (w.reason = 'issue_continuation_needed' or w.requested_by = 'sweep')) as is_attempt
from observed_runs r
where r.issue_id is not null;

-- The continuations that sweep did not queue. Every continuation counts as an attempt; the ledger has sweep's own. One `union all` of both
-- would be read whole for every issue: SQLite does not pass a joined column into its halves.
create view host_continuations as
select r.issue_id, r.created_at
from issue_runs r
where r.is_continuation
  and not exists (select 1 from recoveries c where c.kind = 'issue' and c.subject_id = r.issue_id and c.wake_id = r.wake_id);
{%- if "pending_wakes" not in brings %}

-- The wakes that are pending: neither served nor dropped. A wake whose run has ended, or was heard of, is served, whatever its status says: then
-- the run itself says whether somebody is at work. Nobody will take up the wake of a terminated agent: it is pending only while its run is live.
create view pending_wakes as
select w.id, w.issue_id, {% if steps %}w.plan_step_id, {% endif %}w.created_at,
       'wake ' || substr(w.id, 1, 8) || ' (' || w.status || ', by ' || substr(w.requested_by, 1, 100) || ')'
           -- The live run of the wake, or the latest: two queries, each by an index, however many runs the wake had.
           || coalesce(
               (select ', its run ' || substr(r.id, 1, 8) || ' is ' || r.status from runs r
                where r.wake_id = w.id and r.status {{ live }} order by r.created_at desc, r.id limit 1),
               (select ', its run ' || substr(r.id, 1, 8) || ' is ' || r.status from runs r where r.wake_id = w.id order by r.created_at desc, r.id limit 1),
               ', no run yet') as detail
from wakes w
join agents a on a.id = w.agent_id
where w.status in ('queued', 'deferred', 'claimed')
  and (exists (select 1 from runs r where r.wake_id = w.id and {{ is_live("r") }})
       or a.status <> 'terminated' and not exists (select 1 from runs r where r.wake_id = w.id));
{%- endif %}
{%- if steps %}

-- What the runs of each step say that have not ended by their status: the run names the step, or a wake that names it started the run. One
-- `union all` of both would be read whole for every step. A run that works on a step works on the plan's issue, too.
{%- macro of_step() %}(
        select r.id from runs r where r.plan_step_id = s.id
        union all
        select r.id from wakes w join runs r on r.wake_id = w.id where w.plan_step_id = s.id
    ) o {{ those_of("observed_runs", "r", "r.id = o.id and r.status " ~ live) }}
{%- endmacro %}
create view worked_steps as
select s.id,
    exists (select 1 from {{ of_step() }} where r.is_live) as has_live_run,
    (select max({{ heard_of_at("r") }}) from {{ of_step() }}) as heard_of_at,
    (select max({{ lost_run("r") }}) from {{ of_step() }}) as lost_run
from plan_steps s;
{%- endif %}
