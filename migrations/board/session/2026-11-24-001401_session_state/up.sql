-- The facts and exemptions by which sweep decides.
{{ decided_facts("session") }}

{% set is_quiet %}(f.idle_since < {{ before("f.observed_at", "coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end)") }}
                   and (f.agent_state is null or not {{ is_one_of("f.agent_state", "needs_person") }})){% endset -%}
{%- set alive %}
            when f.declared_wait is not null then 'declared_wait'
            when {{ before("f.observed_at", "p.nudge_delay_seconds") }} <= f.pending_command_since then 'pending_command'
            when f.observed_at < f.ended_at then 'recent'
            when f.ended_at is not null and f.issue_has_live_run then 'live_run'
            {{- wake_branches("case when f.ended_at is not null then f.issue_wake_since end") }}
            -- Only a sweep sees a loop or a question on a screen: the session is active until a sweep has escalated it, and escalated until
            -- a sweep sees that this has ended. decisions.md#a-looping-session-is-never-quiet
            when f.ended_at is null and not {{ is_quiet }}
                 and not ((f.recent_output <> '' or f.agent_state is not null or f.reports_progress) and f.escalated) then 'recent'{% endset -%}
{%- set rest %}
            {{- exemption_and_agent(known, "") }}
            when f.escalated and (case when f.reports_progress then f.progressed_at else f.idle_since end <= f.open_recovery_at or f.ended_at is null and not {{ is_quiet }})
                 or {{ greatest }}(p.attempts_per_day_max, 1) <= f.escalations_last_day
            then case when f.ended_at is null then 'escalated'
                      when f.exit_code is null then 'escalated_crash_unseen'
                      else 'escalated_crash' end
            when f.ended_at is null then 'silent'
            when f.exit_code is null then 'crashed_unseen'
            else 'crashed'{% endset -%}
{%- set of_interest %}(f.issue_status is null or not {{ is_one_of("f.issue_status", "finished") }}){% endset -%}
{%- if one_by_one %}
create view session_outlines with (security_barrier) as
select s.subject_id, s.tenant, f.agent_id, f.agent_status, f.observed_at, f.issue_wake_since, f.pending_command_since, f.ended_at, f.reason
from session_subjects s
cross join {{ facts_of("session", "s.subject_id",
                       ["agent_id", "agent_status", "observed_at", "issue_wake_since", "pending_command_since", "ended_at"], alive,
                       once=at_once, condition=of_interest) }} f;

{% endif %}
-- Why each session in progress is in its state.
{{ reasons("session", ["issue_wake_since", "pending_command_since", "ended_at"], alive,
           ["idle_since", "open_recovery_action"], rest, of_interest, once=at_once) }}

{{ states("session", "when w.reason in ('pending_wake', 'stuck_wake') then w.issue_wake_since
           when w.reason = 'pending_command' then w.pending_command_since
           when w.reason in ('crashed', 'crashed_unseen', 'escalated_crash', 'escalated_crash_unseen') then w.ended_at") }}

{% set crash %}replace(t.text, '{exit_code}', cast(f.exit_code as text)
               || case when f.exit_code between 129 and 192 then ' (signal ' || cast(f.exit_code - 128 as text) || ')' else '' end){% endset -%}
{{ details("session", "when 'declared_wait' then f.declared_wait
           when 'crashed' then " ~ crash ~ "
           when 'escalated_crash' then " ~ crash) }}

-- The state of each session in progress.
{{ work_state("session") }};
