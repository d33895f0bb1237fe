{#- Queries about the issue `i` of a session or a step. An issue may have any number of sessions, plans, steps and wakes: reading all of the one
    for each of the other would cost the product of both numbers. So a few are read, beginning with those that may be at work, in the order of
    the host's indexes, so that PostgreSQL does not read a whole table instead. -#}
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
{#- Scalar subqueries: PostgreSQL could plan an `exists` as a hash of all runs, built anew for every session. An issue with more open plans, or
    more steps in progress, than are read counts as one with a live run, since somebody may be at work on the others. -#}
{%- macro has_worked_step() -%}
    (select t.id from ({{ few_steps() }}) t
            where (select r.id from runs r where r.plan_step_id = t.id and r.status {{ live }} limit 1) is not null
               or (select r.id from (select w.id from wakes w where w.plan_step_id = t.id order by w.created_at desc limit 5) w
                   {{ some_of("runs", "r", "r.wake_id = w.id and r.status " ~ live, "r.created_at desc, r.id", 1) }} limit 1) is not null
            limit 1) is not null
        or (select p.id from ({{ few_plans("1 offset " ~ plans_max) }}) p where p.status in ('executing', 'stalled')) is not null
        or (select t.id from ({{ few_steps("1 offset " ~ steps_max) }}) t where t.status = 'in_progress' limit 1) is not null
{%- endmacro -%}
{#- The wakes of the issue, oldest and latest first, since many may have been taken long ago and be pending no more. `besides`: a session whose
    own relaunch does not count. -#}
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
        -- The sessions that ended first, since a sweep relaunches these first.
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
