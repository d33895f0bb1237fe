-- The facts and exemptions by which sweep decides.
{{ decided_facts("step") }}

{% set live %}
            when f.has_live_run or f.run_heard_of_at >= {{ before("f.observed_at", "p.run_silent_after_seconds") }} then 'live_run'{% endset -%}
{%- set rest %}{{ wake_branches("f.pending_wake_since") }}
            when {{ before("f.observed_at", "coalesce(f.stalled_after_seconds, p.step_stalled_after_seconds)") }} <= f.idle_since then 'recent'
            {{- exemption_and_agent(known, "") }}
            when f.escalated then 'escalated'
            -- A subject that has used up its escalations of a day is left.
            when {{ greatest }}(p.attempts_per_day_max, 1) <= f.escalations_last_day
                 and (f.agent_id is null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
            else 'stalled'{% endset -%}
{%- if at_once %}
-- The first step: one read of the live runs answers for all steps in progress. The barrier has PostgreSQL compute this view once.
create view step_outlines with (security_barrier) as
select f.subject_id, f.tenant, f.agent_id, f.agent_status, f.observed_at, f.plan_id, case
            {{- live }} end as reason
from step_facts f
left join {{ policy }} p on true
where f.status = 'in_progress' and f.plan_status in ('executing', 'stalled');

{% elif one_by_one %}
create view step_outlines with (security_barrier) as
select s.subject_id, s.tenant, f.agent_id, f.agent_status, f.observed_at, f.plan_id, f.reason
from step_subjects s
cross join {{ facts_of("step", "s.subject_id", ["agent_id", "agent_status", "observed_at", "plan_id"], live) }} f;

{% endif %}
-- Why each plan step in progress is in its state.
{{ reasons("step", ["plan_id"], live, ["idle_since", "open_recovery_action", "pending_wake_since"], rest) }}

{{ states("step", "when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since", " w.plan_id,") }}

{{ details("step", "") }}

-- The state of each plan step in progress.
{{ work_state("step", ", w.plan_id") }};
