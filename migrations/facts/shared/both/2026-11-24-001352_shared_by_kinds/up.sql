-- Views that the facts of all kinds share. docs/host-reference.md explains every column.
{#- The step, or else the issue, that a wake or a run is about. -#}
{%- macro work_of(w) %}
       {{ w }}.id,
{%- if steps %}
       case when s.id is not null then 'step' when i.id is not null then 'issue' end as kind,
       coalesce(s.id, i.id) as subject_id,
       coalesce(p.tenant, i.tenant, 'default') as tenant,
       case when s.id is not null then substr(p.title, 1, 1000) || ' #' || s.position else i.identifier end as identifier,
       substr(coalesce(s.title, i.title), 1, 1000) as title,
{%- else %}
       case when i.id is not null then 'issue' end as kind,
       i.id as subject_id,
       coalesce(i.tenant, 'default') as tenant,
       i.identifier,
       substr(i.title, 1, 1000) as title,
{%- endif %}
       {{ w }}.agent_id,
       substr(a.name, 1, 1000) as agent_name,
{%- endmacro %}
{%- macro join_work(w, agents) %}
{{ agents }} agents a on a.id = {{ w }}.agent_id
left join issues i on i.id = {{ w }}.issue_id
{%- if steps %}
left join plan_steps s on s.id = {{ w }}.plan_step_id
left join plans p on p.id = s.plan_id
{%- endif %}
{%- endmacro %}
{%- if "untaken_wakes" not in brings %}

-- Wakes that nobody has taken up: no run of theirs has begun. A deferred wake is none while another run of its issue or step is live.
create view untaken_wakes as
select
    {{- work_of("w") }}
       a.status as agent_status,
       w.created_at
from wakes w
{{- join_work("w", "join") }}
where w.status in ('queued', 'deferred', 'claimed')
  and not exists (select 1 from runs r where r.wake_id = w.id and r.status <> 'queued')
  -- Each `in` is a set that PostgreSQL reads once; for an `exists` it would read all runs for each wake.
  and not (w.status = 'deferred'
           and coalesce(w.issue_id in (select r.issue_id from runs r where r.issue_id is not null and {{ is_at_work("r") }}), false))
{%- if steps %}
  and not (w.status = 'deferred'
           and coalesce(w.plan_step_id in (select r.plan_step_id from runs r where r.plan_step_id is not null and {{ is_at_work("r") }}), false))
{%- endif %};
{%- endif %}

-- Runs at work that have never shown a sign of life, since when neither they nor their issue or step has shown one. A time that lies far in the
-- future is a clock's mistake. A session of the run's agent shows by itself whether it lives. A run works on the step and the issue that it names,
-- or else its wake, or on the issue that it holds, and on that of a step's plan: on the step, if that is in progress.
{%- set far = after(at_statement, 86400) %}
{%- set seen_at = "coalesce(s.updated_at, i.updated_at)" if steps else "i.updated_at" %}
{%- set is_unheard %}r.lost is null and (r.heartbeat_at is null and r.lease_seconds is null or coalesce(r.heartbeat_at, r.created_at) > {{ far }})
      and {% if native %}r.status {{ live }} and (r.status <> 'queued' or r.wake_id is null){% else %}r.status = 'running'{% endif %}{% endset %}
create view unheard_runs as
select
    {{- work_of("r") }}
       coalesce(r.began_at, {{ seen_at }}) as created_at,
       {{ greatest }}(coalesce(r.began_at, {{ seen_at }}), {{ seen_at }}) as since
from (
    select r.id, r.agent_id, case when r.created_at <= {{ far }} then r.created_at end as began_at,
{%- if steps %}
           coalesce(r.issue_id, w.issue_id, (select i.id from issues i where i.id = p.issue_id and i.tenant = p.tenant)) as issue_id,
           case when s.status = 'in_progress' then s.id end as plan_step_id
{%- else %}
           coalesce(r.issue_id, w.issue_id) as issue_id
{%- endif %}
    from observed_runs r
    left join wakes w on w.id = r.wake_id
{%- if steps %}
    left join plan_steps s on s.id = coalesce(r.plan_step_id, w.plan_step_id)
    left join plans p on p.id = s.plan_id
{%- endif %}
    where {{ is_unheard }}
    union all
    select r.id, r.agent_id, case when r.created_at <= {{ far }} then r.created_at end, i.id{% if steps %}, null{% endif %}
    from issues i
    join observed_runs r on r.id = i.checkout_run_id
    where i.status = 'in_progress' and r.issue_id is null and r.wake_id is null{% if steps %} and r.plan_step_id is null{% endif %} and {{ is_unheard }}
) r
{{- join_work("r", "left join") }}
where {{ "coalesce(s.status, i.status)" if steps else "i.status" }} = 'in_progress'
{%- if sessions %}
  and not exists (select 1 from sessions o where o.issue_id = i.id and o.tenant = i.tenant and (o.agent_id is null or o.agent_id = r.agent_id)
                  and o.status = 'active' and o.ended_at is null)
{%- endif %};
{%- if "wake_pickups" not in brings %}

-- The times at which wakes were taken up: the beginnings of their runs.
create view wake_pickups as
select r.wake_id, r.created_at as taken_at from runs r where r.wake_id is not null and r.status <> 'queued';
{%- endif %}

-- sweep's wakes that were dropped, or whose agent was terminated, before any run: none of them is an attempt.
-- A scalar subquery is asked for each, by the wake's keys: joined, all wakes might be read.
create view unserved_continuations as
select c.kind, c.subject_id, c.created_at
from recoveries c
where c.action = 'continue' and (
    select w.id from wakes w join agents a on a.id = w.agent_id
    where w.id = c.wake_id{{ "" if steps else " and w.issue_id = c.subject_id" }}
      and (w.status in ('cancelled', 'skipped') or a.status = 'terminated' and w.status in ('queued', 'deferred', 'claimed'))
      and not exists (select 1 from runs r where r.wake_id = w.id)
    limit 1
) is not null;

{%- if sessions %}

-- The sessions that work on an issue of their tenant: those of its assignee, and those without an agent.
create view issue_sessions as
select s.id, i.id as issue_id, s.status, s.started_at, s.last_activity_at, s.ended_at
from issues i join sessions s on s.issue_id = i.id and s.tenant = i.tenant
where s.agent_id is null or s.agent_id = i.assignee_agent_id;

-- Relaunches that are on their way: queued, or taken within a minute and their process not up yet.
create view issue_relaunches as
select s.issue_id, s.id as session_id, c.created_at
from issue_sessions s join session_commands c on c.session_id = s.id
where s.status = 'active' and c.command = 'relaunch'
  and (c.status = 'queued' or c.status = 'delivered' and s.ended_at <= c.updated_at and c.updated_at > {{ before(at_statement, 60) }});
{%- endif %}

-- Continuations that were not needed: a run that had begun before the wake, and was not started by it, reported within a day, so its owner
-- was alive. Only success is a report, since others too fail, time out, interrupt or cancel a run. The latest of the earlier runs are read: all
-- of them for each continuation would cost the product of both numbers.
create view false_rescues as
select recovery_id, subject_id, kind, continued_at, reported_at
from (
    select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, (
        select min(r.finished_at)
        from (
            select * from (select r.* from runs r where r.issue_id = i.id and r.created_at < c.created_at order by r.created_at desc limit 100) r
{%- if steps %}
            union all
            select r.* from ({{ few_steps() }}) t
            {{ some_of("runs", "r", "r.plan_step_id = t.id and r.created_at < c.created_at", "r.created_at desc", 10) }}
            union all
            select * from (select r.* from runs r where c.kind = 'step' and r.plan_step_id = c.subject_id and r.created_at < c.created_at
                           order by r.created_at desc limit 100) r
            union all
            select r.* from (select w.id from wakes w where c.kind = 'step' and w.plan_step_id = c.subject_id and w.created_at < c.created_at
                             order by w.created_at desc limit 50) w
            {{ some_of("runs", "r", "r.wake_id = w.id and r.created_at < c.created_at", "r.created_at desc", 2) }}
{%- endif %}
        ) r
        where r.status = 'succeeded' and c.created_at < r.finished_at and not coalesce(r.wake_id = c.wake_id, false)
    ) as reported_at
    from recoveries c left join issues i on c.kind = 'issue' and i.id = c.subject_id
    where c.action = 'continue'
) c
where reported_at <= {{ after("continued_at", 86400) }};
