{#- What the boards of all kinds ask alike: every subject's state in one word, for boards and for `sweep status`. A board
    cannot call the rules of src/rules, so the order in which they ask stands in these views once more, and a test compares
    both for every combination. Limits, statuses, states and texts are the rules' own: they come from the table policy.
    f: the facts; p: the policy; e, ea, et: the exemptions of
    the subject, its agent and its tenant that hold; w: the subject with its reason; t: the text of that reason. -#}
{%- macro latest_escalation(kind, column) %}(
               select r.{{ column }} from recoveries r
               where r.kind = '{{ kind }}' and r.subject_id = w.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1){% endmacro -%}
{%- macro state() %}case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end{% endmacro -%}
{%- macro other_details(kind) %}when 'exempt' then w.exemption
           when 'unavailable' then replace(replace(
               t.text, '{status}', replace(w.agent_status, '_', ' ')), '{agent}', coalesce(w.agent_name, ''))
           when 'escalated' then {{ latest_escalation(kind, "reason") }}
           else t.text{% endmacro -%}
{%- macro other_since(kind) %}when w.reason = 'escalated' then coalesce({{ latest_escalation(kind, "created_at") }}, w.idle_since)
           else w.idle_since{% endmacro -%}
{%- macro exemption_and_agent(reachable) %}when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
               when f.agent_id is not null and f.agent_status is null{{ reachable }} then 'no_such_agent'
               when f.agent_id is not null and not {{ is_one_of("f.agent_status", "wakeable") }} then 'unavailable'{% endmacro -%}
{%- macro wake_branches(since) %}when {{ since }} between {{ before("f.observed_at", "p.wake_stuck_after_seconds") }}
                    and {{ after("f.observed_at", "p.clock_ahead_max_seconds") }} then 'pending_wake'
               when {{ since }} is not null then 'stuck_wake'{% endmacro -%}
{%- macro exemption() %}coalesce(e.reason, ea.reason, et.reason) as exemption{% endmacro -%}
{%- macro join_exemptions(kind) %}left join exemptions e on e.kind = '{{ kind }}' and e.subject_id = f.subject_id and (e.until is null or f.observed_at < e.until)
    left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
    left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until){% endmacro -%}
{#- What sweep decides by: the facts of a subject, with the exemptions of the subject, of its agent and of its tenant, expired ones too.
    One relation, so that no statement has to join them. -#}
{%- macro decided_facts(kind) %}create view {{ kind }}_decided_facts as
select f.*, e.reason as exemption, e.until as exemption_until, ea.reason as agent_exemption, ea.until as agent_exemption_until,
       et.reason as tenant_exemption, et.until as tenant_exemption_until,
       -- Filled in where the subject is taken (take_{{ kind }}): is it held, and the agent and the issue that are held with it.
       false as held, cast(null as id) as held_agent_id, cast(null as id) as held_issue_id
from {{ kind }}_facts f
left join exemptions e on e.kind = '{{ kind }}' and e.subject_id = f.subject_id
left join agent_exemptions ea on ea.agent_id = f.agent_id
left join tenant_exemptions et on et.tenant = f.tenant;{% endmacro -%}
{%- macro from_subjects(kind) %}from {{ kind }}_subjects s
    {{ join_facts(kind) }}
    left join {{ policy }} p on true
    {{ join_exemptions(kind) }}
    {{ computed_once }}{% endmacro -%}
