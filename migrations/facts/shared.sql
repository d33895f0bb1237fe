{#- Queries about the issue `i` of a session or a step. An issue may have any number of sessions, plans, steps and wakes: reading all of the one
    for each of the other would cost the product of both numbers. So a few are read, beginning with those that may be at work, in the order of
    the host's indexes, so that PostgreSQL does not read a whole table instead. -#}
{%- set live = "in ('queued', 'scheduled_retry', 'running')" -%}
{#- Whether nobody is at work on a run by a word that is not the lease's: the host's, or that of a worker's new start. -#}
{%- macro is_over(r) %}({{ r }}.lost is not null{% if native %} or {{ r }}.worker_id is not null and exists (select 1 from former_workers w where w.id = {{ r }}.worker_id){% endif %}){% endmacro -%}
{#- Whether a run still holds its lease. The first sign of life of a run is its beginning. -#}
{%- macro holds_lease(r) %}coalesce({{ r }}.heartbeat_at, {{ r }}.created_at) >= {{ before(at_statement, r ~ ".lease_seconds") }}{% endmacro -%}
{#- A run that has not ended and is not lost; and one of these that need not be heard of: it has never shown a sign of life, or holds a lease. -#}
{%- macro is_at_work(r) %}{{ r }}.status {{ live }} and not {{ is_over(r) }} and ({{ r }}.lease_seconds is null or {{ holds_lease(r) }}){% endmacro -%}
{%- macro is_live(r) %}{{ r }}.status {{ live }} and not {{ is_over(r) }}
                and case when {{ r }}.lease_seconds is null then {{ r }}.heartbeat_at is null else {{ holds_lease(r) }} end{% endmacro -%}
{#- The last sign of life of a run that has not ended by its status, if a silence makes that run a lost one; and the words for a lost run. -#}
{%- macro heard_of_at(r) %}case when {{ r }}.lease_seconds is null and {{ r }}.lost is null then {{ r }}.heartbeat_at end{% endmacro -%}
{%- macro lost_run(r) %}'run ' || substr(cast({{ r }}.id as text), 1, 8) || ' is lost: ' || {{ r }}.lost{% endmacro -%}
{#- A lost run has ended with its last sign of life. -#}
{%- macro ended_at(r) %}coalesce({{ r }}.finished_at, case when {{ r }}.lost is not null then coalesce({{ r }}.heartbeat_at, {{ r }}.created_at) end){% endmacro -%}
{#- Whether a sign of life keeps the subject from being a candidate: a second is the shortest silence after which a run is lost. -#}
{%- macro is_fresh(at) %}{{ at }} > {{ before(at_statement, 1) }}{% endmacro -%}
{#- Whether a wake started a run of an issue, by the issue as well: a host may make the ids of its own wakes up, and then no index finds one by its id. -#}
{%- macro is_of_run(w, r) %}{{ w }}.id = {{ r }}.wake_id and {{ w }}.issue_id = {{ r }}.issue_id{% endmacro -%}
{%- set is_fresh_wake %}w.created_at > {{ before(at_statement, 60) }} and w.created_at <= {{ at_statement }}{% endset -%}
{#- Whether a wake of the last minute is for the subject. -#}
{%- macro has_fresh_wake(column, id) %}{{ is_in("w." ~ column, "pending_wakes w where w." ~ column ~ " is not null and " ~ is_fresh_wake, id) }}{% endmacro -%}
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
            where (select r.id from runs r where r.plan_step_id = t.id and {{ is_at_work("r") }} limit 1) is not null
               or (select r.id from (select w.id from wakes w where w.plan_step_id = t.id order by w.created_at desc limit 5) w
                   {{ some_of("runs", "r", "r.wake_id = w.id and " ~ is_at_work("r"), "r.created_at desc, r.id", 1) }} limit 1) is not null
            limit 1) is not null
        or (select p.id from ({{ few_plans("1 offset " ~ plans_max) }}) p where p.status in ('executing', 'stalled')) is not null
        or (select t.id from ({{ few_steps("1 offset " ~ steps_max) }}) t where t.status = 'in_progress' limit 1) is not null
{%- endmacro -%}
{#- The runs `r` of the issue that have not ended by their status: its own, the one that holds it, those that its wakes started, and those of the
    steps of its plans. -#}
{%- macro unended_runs() %}(
        select r.id from runs r where r.issue_id = i.id and r.status {{ live }}
        union all
        select i.checkout_run_id
        union all
        {{ runs_of_wakes("w.issue_id = i.id and w.status " ~ on_its_way) }}
{%- if steps %}
        union all
        {{ runs_of_steps("plans p join plan_steps s on s.plan_id = p.id", "p.issue_id = i.id and p.tenant = i.tenant") }}
{%- endif %}
    ) o {{ those_of("observed_runs", "r", "r.id = o.id and r.status " ~ live) }}
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
        {{ those_of("pending_wakes", "w", "w.id = o.id and w.issue_id = i.id") }}
    {%- endfor %}
{%- endif %}
{%- if steps %}
        union all select w.created_at, w.detail
        from ({{ few_steps() }}) t
    {%- if "pending_wakes" in brings %}
        {{ some_of("pending_wakes", "w", "w.plan_step_id = t.id", "w.created_at", 5) }}
    {%- else %}
        {{ some_of("wakes", "o", "o.plan_step_id = t.id and o.status " ~ on_its_way, "o.created_at desc", 5) }}
        {{ those_of("pending_wakes", "w", "w.id = o.id and w.plan_step_id = t.id") }}
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
