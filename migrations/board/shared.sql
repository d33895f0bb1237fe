{#- The board of each kind: every subject's state in one word, for boards and for `sweep status`. A board cannot call
    src/rules, so these views repeat the order in which the rules ask, and a test compares both for every combination.
    Limits, statuses, states and texts come from the table policy, into which the rules are written.

    There may be very many subjects in progress, and most are at work. So the branches of each kind are asked in two steps: the second step, whose
    facts cost more, leaves out what the first one has answered. Each kind has three views:
    `..._reasons`: the reason for each subject's state, and the facts that date it;
    `..._states`: each subject's state and since when, for counting and choosing;
    `..._details`: the words that people read about the few subjects that are shown.
    f: the facts; p: the policy; e, ea, et: the exemptions in force of
    the subject, its agent and its tenant; w: the subject with its reason; t: the text of that reason. -#}
{%- macro latest_escalation(kind, subject, column) %}(
               select r.{{ column }} from recoveries r
               where r.kind = '{{ kind }}' and r.subject_id = {{ subject }}.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1){% endmacro -%}
{%- macro other_details(kind) %}when 'exempt' then coalesce(e.reason, ea.reason, et.reason)
           when 'unavailable' then replace(replace(
               t.text, '{status}', replace(f.agent_status, '_', ' ')), '{agent}', coalesce(f.agent_name, ''))
           when 'escalated' then {{ latest_escalation(kind, "f", "reason") }}
           else t.text{% endmacro -%}
{%- macro exemption_and_agent(agent, reachable) %}
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when {{ agent }}.agent_id is not null and {{ agent }}.agent_status is null{{ reachable }} then 'no_such_agent'
            when {{ agent }}.agent_id is not null and not {{ is_one_of(agent ~ ".agent_status", "wakeable") }} then 'unavailable'{% endmacro -%}
{%- macro wake_branches(since) %}
            when {{ since }} between {{ before("f.observed_at", "p.wake_stuck_after_seconds") }}
                 and {{ after("f.observed_at", "p.clock_ahead_max_seconds") }} then 'pending_wake'
            when {{ since }} is not null then 'stuck_wake'{% endmacro -%}
{%- macro join_exemptions(kind, subject) %}left join exemptions e on e.kind = '{{ kind }}' and e.subject_id = {{ subject }}.subject_id
                          and (e.until is null or {{ subject }}.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = {{ subject }}.agent_id and (ea.until is null or {{ subject }}.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = {{ subject }}.tenant and (et.until is null or {{ subject }}.observed_at < et.until){% endmacro -%}
{#- The facts of a subject, with the exemptions of the subject, its agent and its tenant, including expired ones. sweep decides by this
    one relation, so no statement has to join them. -#}
{%- macro decided_facts(kind) %}create view {{ kind }}_decided_facts as
select f.*, e.reason as exemption, e.until as exemption_until, ea.reason as agent_exemption, ea.until as agent_exemption_until,
       et.reason as tenant_exemption, et.until as tenant_exemption_until,
       -- The agent of which people were told that it is gone or terminated, by what is open.
       (select r.agent_id from recoveries r where r.id = f.open_recovery_id and r.lost_agent) as lost_agent_id,
       -- take_{{ kind }} fills these in: whether it holds the subject, and the agent and the issue that it holds with it.
       false as held, cast(null as id) as held_agent_id, cast(null as id) as held_issue_id
from {{ kind }}_facts f
left join exemptions e on e.kind = '{{ kind }}' and e.subject_id = f.subject_id
left join agent_exemptions ea on ea.agent_id = f.agent_id
left join tenant_exemptions et on et.tenant = f.tenant;{% endmacro -%}
{#- Makes the view that says why each subject in progress is in its state. Where facts are read one by one, the view `..._outlines` has the
    answers of the first step, with its `columns`; `rest` is asked, with `rest_columns`, only about the subjects without an answer. -#}
{%- macro reasons(kind, columns, first, rest_columns, rest, condition="true", once=false) %}create view {{ kind }}_reasons as
{%- if one_by_one %}
select o.subject_id, o.tenant, o.agent_id,
       {%- for column in columns %} o.{{ column }},{% endfor %}{% for column in rest_columns %} f.{{ column }},{% endfor %}
       coalesce(o.reason, f.reason) as reason
from {{ kind }}_outlines o
{{ join_exemptions(kind, "o") }}
left join {{ facts_of(kind, "case when o.reason is null then o.subject_id end", rest_columns, rest, once) }} f on true;
{%- else %}
select f.subject_id, f.tenant, f.agent_id,
       {%- for column in columns %} f.{{ column }},{% endfor %}{% for column in rest_columns %} f.{{ column }},{% endfor %}
       case
            {{- first }}{{ rest }} end as reason
from {{ kind }}_subjects s
join {{ kind }}_facts f on f.subject_id = s.subject_id
left join {{ policy }} p on true
{{ join_exemptions(kind, "f") }}
where {{ condition }}
limit -1;  -- has SQLite compute the view once, not once for each column that needs it
{%- endif %}{% endmacro -%}
{#- Makes the view of each subject's state. `waits`: branches of a `case` over w.reason that say since when, for reasons that do not date from the
    beginning of its idleness. A null `since` was not read, and the facts have it. -#}
{%- macro states(kind, waits, columns="") %}create view {{ kind }}_states as
select w.subject_id, w.tenant, w.agent_id,{{ columns }} w.reason,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case
           {{ waits }}
           when w.reason = 'escalated' then coalesce({{ latest_escalation(kind, "w", "created_at") }}, w.idle_since)
           else w.idle_since end as since
from {{ kind }}_reasons w
left join board_texts t on t.reason = w.reason;{% endmacro -%}
{#- Makes the view of how people see a subject, for each reason. `branches`: of a `case` over t.reason, with the words for people. -#}
{%- macro details(kind, branches) %}create view {{ kind }}_details as
select f.subject_id, t.reason, f.identifier, f.title, f.agent_name, f.idle_since,
       case t.reason
           {{ branches }}
           {{ other_details(kind) }} end as detail
from {{ kind }}_facts f
cross join board_texts t
{{ join_exemptions(kind, "f") }};{% endmacro -%}
{%- macro work_state(kind, columns="") %}create view {{ kind }}_work_state as
select w.subject_id, w.tenant, d.identifier, d.title, w.agent_id, d.agent_name, w.state, d.detail, coalesce(w.since, d.idle_since) as since{{ columns }}
from {{ kind }}_states w
left join {{ details_of(kind) }}{% endmacro -%}
