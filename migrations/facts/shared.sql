{#- What the facts of sessions and of steps ask of their issue `i`, of which there may be many of both. It has as many plans, steps, wakes and
    sessions as its tenant likes: all of them for each session or step would cost the number of the one times that of the other. So a few are
    looked at, first of all those that may be at work. A host's own indexes find them in this order; PostgreSQL is not to read a table instead. -#}
{%- set live = "in ('queued', 'scheduled_retry', 'running')" -%}
{%- set on_its_way = "in ('queued', 'deferred', 'claimed')" -%}
{#- Ten plans, the open ones first, and fifty steps of each: those in progress first, then those that come next. -#}
{%- set plans_max, steps_max = 10, 50 -%}
{%- macro few_plans(most) -%}
    select p.id, p.status from plans p where p.issue_id = i.id and p.tenant = i.tenant order by {{ plan_order("p.") }} limit {{ most }}
{%- endmacro -%}
{%- macro few_steps(most=steps_max) -%}
    select t.id, t.status from ({{ few_plans(plans_max) }}) p {{ some_of("plan_steps", "t", "t.plan_id = p.id", step_order("t."), most) }}
{%- endmacro -%}
{#- Values, not an `exists`: that could be planned as a hash of all runs, built anew for every session. What is not looked at may be worked on: an
    issue with more open plans, or more steps of a plan in progress, counts as one with a live run. -#}
{%- macro has_worked_step() -%}
    (select t.id from ({{ few_steps() }}) t
            where (select r.id from runs r where r.plan_step_id = t.id and r.status {{ live }} limit 1) is not null
               or (select r.id from (select w.id from wakes w where w.plan_step_id = t.id order by w.created_at desc limit 5) w
                   {{ some_of("runs", "r", "r.wake_id = w.id and r.status " ~ live, "r.created_at desc, r.id", 1) }} limit 1) is not null
            limit 1) is not null
        or (select p.id from ({{ few_plans("1 offset " ~ plans_max) }}) p where p.status in ('executing', 'stalled')) is not null
        or (select t.id from ({{ few_steps("1 offset " ~ steps_max) }}) t where t.status = 'in_progress' limit 1) is not null
{%- endmacro -%}
{#- The wakes of the issue from both ends: there may be many that were taken long ago, and are pending no more. `besides`: a session whose
    own relaunch is none of it. -#}
{%- macro few_on_their_way(besides="") -%}
{%- if "pending_wakes" in brings %}
        {{ a_few("select w.created_at, w.detail from pending_wakes w where w.issue_id = i.id") }}
{%- else %}
    {%- for order in ["w.created_at", "w.created_at desc"] %}
        {{ "" if loop.first else "union all " }}select w.created_at, w.detail
        from (select w.id from wakes w where w.issue_id = i.id and w.status {{ on_its_way }} order by {{ order }} limit 25) o
        {{ that_of("pending_wakes", "w", "o.id") }}
    {%- endfor %}
{%- endif %}
{%- if steps %}
        union all select w.created_at, w.detail
        from ({{ few_steps() }}) t
    {%- if "pending_wakes" in brings %}
        {{ some_of("pending_wakes", "w", "w.plan_step_id = t.id", "w.created_at", 5) }}
    {%- else %}
        {{ some_of("wakes", "o", "o.plan_step_id = t.id and o.status " ~ on_its_way, "o.created_at desc", 5) }}
        {{ that_of("pending_wakes", "w", "o.id") }}
    {%- endif %}
{%- endif %}
{%- if sessions %}
        -- Of the sessions that ended the first ones: a sweep relaunches these first.
        union all select c.created_at, 'the relaunch of session ' || substr(cast(o.id as text), 1, 8)
        from (
    {%- for whose in ["is null", "= i.assignee_agent_id"] %}{% for begun in [("is not null", "ended_at"), ("is null", "started_at")] %}
            {{ "" if loop.first and whose == "is null" else "union all " }}
                {{- a_few("select o.id, o.ended_at from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id " ~ whose
                          ~ " and o.status = 'active' and o.ended_at " ~ begun[0] ~ (" and o.id <> " ~ besides if besides else "")
                          ~ " order by o." ~ begun[1], 10) }}
    {%- endfor %}{% endfor %}
        ) o
        {{ some_of("session_commands", "c", "c.session_id = o.id and c.command = 'relaunch'", "c.created_at desc", 5) }}
        where c.status = 'queued' or c.status = 'delivered' and o.ended_at <= c.updated_at and c.updated_at > {{ before(at_statement, 60) }}
{%- endif %}
{%- endmacro -%}
