-- What works on an issue or a step, and what is on its way to it.

-- The runs of each issue. A continuation is a run that was started to resume work, by sweep or by the host itself;
-- any retry, whatever its reason, belongs to the episode that it resumes.
create view issue_runs as
select r.id, r.issue_id, r.wake_id, r.status, r.created_at, r.finished_at, r.retry_reason,
       r.status in ('queued', 'scheduled_retry', 'running') as live,
       coalesce(r.retry_reason = 'issue_continuation_needed', 0)
           or exists (select 1 from wakes w where w.id = r.wake_id and w.reason = 'issue_continuation_needed') as is_continuation,
       exists (select 1 from wakes w where w.id = r.wake_id and w.requested_by = 'sweep') as is_ours
from runs r
where r.issue_id is not null;

-- Every continuation counts as an attempt, whoever queued it; ours are counted in the ledger, these are the others. Not one
-- `union all` of both: SQLite would read it whole for every issue, since it does not pass a joined column into its halves.
create view host_continuations as
select r.issue_id, r.created_at
from issue_runs r
where r.is_continuation
  and not exists (select 1 from recoveries c where c.kind = 'issue' and c.subject_id = r.issue_id and c.wake_id = r.wake_id);
{%- if "pending_wakes" not in brings %}

-- A wake is pending until it is served or dropped: one that was taken is no longer when its run has ended, whatever its status says.
-- One of an agent that was terminated is none, unless its run is live: nobody will take it up.
create view pending_wakes as
select w.id, w.issue_id, {% if steps %}w.plan_step_id, {% endif %}w.created_at,
       'wake ' || substr(w.id, 1, 8) || ' (' || w.status || ', by ' || substr(w.requested_by, 1, 100) || ')'
           -- The live one, or the latest: apart, each by an index, however many a wake had.
           || coalesce(
               (select ', its run ' || substr(r.id, 1, 8) || ' is ' || r.status from runs r
                where r.wake_id = w.id and r.status {{ live }} order by r.created_at desc, r.id limit 1),
               (select ', its run ' || substr(r.id, 1, 8) || ' is ' || r.status from runs r where r.wake_id = w.id order by r.created_at desc, r.id limit 1),
               ', no run yet') as detail
from wakes w
join agents a on a.id = w.agent_id
where w.status in ('queued', 'deferred', 'claimed')
  and (exists (select 1 from runs r where r.wake_id = w.id and r.status {{ live }})
       or a.status <> 'terminated' and not exists (select 1 from runs r where r.wake_id = w.id));
{%- endif %}
{%- if steps %}

-- The steps on which a run works: it names the step, or was started by a wake that does. Not one `union all` of both: SQLite
-- would read it whole for every step.
-- A run that works on a step works on the plan's issue, too.
create view worked_steps as
select s.id as step_id from plan_steps s
where exists (select 1 from runs r where r.plan_step_id = s.id and r.status in ('queued', 'scheduled_retry', 'running'))
   or exists (select 1 from wakes w join runs r on r.wake_id = w.id
              where w.plan_step_id = s.id and r.status in ('queued', 'scheduled_retry', 'running'));
{%- endif %}
