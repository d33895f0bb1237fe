-- What is decided by.
{{ decided_facts("step") }}

-- The plan is locked since its status may change, its agent against a pause, the issue as a sweep of issues does it:
-- of all that works on one issue, only one is continued.
{{ take("step", "select (select a.id from agents a where a.id = p.agent_id for share skip locked),
           (select i.id from issues i where i.id = p.issue_id for update skip locked) into agent, issue
    from plan_steps s join plans p on p.id = s.plan_id where s.id = wanted
    for update of s skip locked for no key update of p skip locked") }}

-- The state of each plan step in progress.
create view step_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       {{ state() }} as state,
       case w.reason
           {{ other_details("step") }} end as detail,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since
           {{ other_since("step") }} end as since,
       w.plan_id
from (
    select f.*, {{ exemption() }},
           case
               when f.has_live_run then 'live_run'
               {{ wake_branches("f.pending_wake_since") }}
               when {{ before("f.observed_at", "coalesce(f.stalled_after_seconds, p.step_stalled_after_seconds)") }} <= f.idle_since then 'recent'
               {{ exemption_and_agent("") }}
               when f.escalated then 'escalated'
               -- A day's escalations are used up: it would be escalated once more, and is left.
               when {{ greatest }}(p.attempts_per_day_max, 1) <= f.escalations_last_day
                    and (f.agent_id is null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
               else 'stalled' end as reason
    {{ from_subjects("step") }}
) w
left join board_texts t on t.reason = w.reason;
