-- The state of each plan step in progress.
create view step_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case w.reason
           when 'exempt' then w.exemption
           when 'unavailable' then replace(replace(t.text, '{status}', replace(w.agent_status, '_', ' ')), '{agent}', coalesce(w.agent_name, ''))
           when 'escalated' then (select r.reason from recoveries r where r.kind = 'step' and r.subject_id = w.subject_id
                                  and r.action = 'escalate' order by r.created_at desc limit 1)
           else t.text end as detail,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since
           when w.reason = 'escalated' then (select max(r.created_at) from recoveries r where r.kind = 'step' and r.subject_id = w.subject_id
                                               and r.action = 'escalate')
           else w.idle_since end as since,
       w.plan_id
from (
    select f.*, e.reason as exemption,
           case
               when f.has_live_run then 'live_run'
               when f.pending_wake_since between {{ before("f.observed_at", "p.wake_stuck_after_seconds") }}
                    and {{ after("f.observed_at", "p.clock_ahead_max_seconds") }} then 'pending_wake'
               when f.pending_wake_since is not null then 'stuck_wake'
               when {{ before("f.observed_at", "coalesce(f.stalled_after_seconds, p.step_stalled_after_seconds)") }} <= f.idle_since then 'recent'
               when e.subject_id is not null then 'exempt'
               when f.agent_id is not null and f.agent_status is null then 'no_such_agent'
               when f.agent_id is not null and not {{ is_one_of("f.agent_status", "wakeable") }} then 'unavailable'
               when f.escalated then 'escalated'
               -- A day's escalations are used up: it would be escalated once more, and is left.
               when {{ greatest }}(p.attempts_per_day_max, 1) <= f.escalations_last_day
                    and (f.agent_id is null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
               else 'stalled' end as reason
    from step_subjects s
    {{ join_facts("step") }}
    left join {{ policy }} p on true
    left join exemptions e on e.kind = 'step' and e.subject_id = f.subject_id and (e.until is null or f.observed_at < e.until)
    {{ computed_once }}
) w
left join board_texts t on t.reason = w.reason;
