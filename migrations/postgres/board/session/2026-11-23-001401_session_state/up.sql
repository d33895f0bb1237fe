-- Every subject's state in one word, for boards and for `sweep status`. A board cannot call the rules of src/rules, so the order in which they
-- ask stands here once more; a test compares both for every combination. Limits, statuses, states and texts are the rules' own: they come
-- from the table policy.

-- The state of each session in progress.
create view session_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case w.reason
           when 'declared_wait' then w.declared_wait
           when 'crashed' then replace(t.text, '{exit_code}', cast(w.exit_code as text))
           when 'exempt' then w.exemption
           when 'unavailable' then replace(replace(t.text, '{status}', replace(w.agent_status, '_', ' ')), '{agent}', coalesce(w.agent_name, ''))
           when 'escalated' then (select r.reason from recoveries r where r.kind = 'session' and r.subject_id = w.subject_id
                                  and r.action = 'escalate' order by r.created_at desc limit 1)
           else t.text end as detail,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.issue_wake_since
           when w.reason = 'pending_command' then w.pending_command_since
           when w.reason in ('crashed', 'crashed_unseen') then w.ended_at
           when w.reason = 'escalated' then (select max(r.created_at) from recoveries r where r.kind = 'session' and r.subject_id = w.subject_id
                                               and r.action = 'escalate')
           else w.idle_since end as since
from (
    select f.*, e.reason as exemption,
           case
               when f.declared_wait is not null then 'declared_wait'
               when f.observed_at - make_interval(secs => p.nudge_delay_seconds) <= f.pending_command_since then 'pending_command'
               when f.observed_at < f.ended_at then 'recent'
               when f.ended_at is not null and f.issue_has_live_run then 'live_run'
               when f.ended_at is not null and f.issue_wake_since between f.observed_at - make_interval(secs => p.wake_stuck_after_seconds)
                    and f.observed_at + make_interval(secs => p.clock_ahead_max_seconds) then 'pending_wake'
               when f.ended_at is not null and f.issue_wake_since is not null then 'stuck_wake'
               -- What stands on a screen, such as a loop, is seen by sweeps alone: its session is active until one of them has escalated it,
               -- and escalated until one sees that it ended.
               when f.ended_at is null and not f.is_quiet and not (f.escalated and f.is_watched) then 'recent'
               when e.subject_id is not null then 'exempt'
               when f.agent_id is not null and f.agent_status is null then 'no_such_agent'
               when f.agent_id is not null and not (p.vocabulary -> 'wakeable' ? f.agent_status) is true then 'unavailable'
               when f.escalated and (f.idle_since <= f.open_recovery_at or f.ended_at is null and not f.is_quiet)
                    or greatest(p.attempts_per_day_max, 1) <= f.escalations_last_day then 'escalated'
               when f.ended_at is null then 'silent'
               when f.exit_code is null then 'crashed_unseen'
               else 'crashed' end as reason
    from (
        select f.*,
               f.idle_since < f.observed_at - make_interval(secs => coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end))
                   and (f.agent_state is null or not (p.vocabulary -> 'needs_person' ? f.agent_state) is true) as is_quiet,
               f.recent_output <> '' or f.agent_state is not null or f.reports_progress as is_watched
        from session_subjects s
        -- One by one: joined, the facts of all that ever were would be read.
        cross join lateral (select * from session_facts f where f.subject_id = s.subject_id offset 0) f
        left join (select * from policy limit 1) p on true
        where f.issue_status is null or not (p.vocabulary -> 'finished' ? f.issue_status) is true
        offset 0
    ) f
    left join (select * from policy limit 1) p on true
    left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id and (e.until is null or f.observed_at < e.until)
    offset 0  -- each question is asked once, not once for each column that needs its answer
) w
left join board_texts t on t.reason = w.reason;
