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
               when strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.nudge_delay_seconds)) <= f.pending_command_since then 'pending_command'
               when f.observed_at < f.ended_at then 'recent'
               when f.ended_at is not null and f.issue_has_live_run then 'live_run'
               when f.ended_at is not null and f.issue_wake_since between strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.wake_stuck_after_seconds))
                    and strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('+%f seconds', p.clock_ahead_max_seconds)) then 'pending_wake'
               when f.ended_at is not null and f.issue_wake_since is not null then 'stuck_wake'
               -- What stands on a screen, such as a loop, is seen by sweeps alone: its session is active until one of them has escalated it,
               -- and escalated until one sees that it ended.
               when f.ended_at is null and not f.is_quiet and not (f.escalated and f.is_watched) then 'recent'
               when e.subject_id is not null then 'exempt'
               when f.agent_id is not null and f.agent_status is null then 'no_such_agent'
               when f.agent_id is not null and not f.agent_status in (select value from json_each(p.vocabulary, '$.wakeable')) then 'unavailable'
               when f.escalated and (f.idle_since <= f.open_recovery_at or f.ended_at is null and not f.is_quiet)
                    or max(p.attempts_per_day_max, 1) <= f.escalations_last_day then 'escalated'
               when f.ended_at is null then 'silent'
               when f.exit_code is null then 'crashed_unseen'
               else 'crashed' end as reason
    from (
        select f.*,
               f.idle_since < strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end)))
                   and (f.agent_state is null or not f.agent_state in (select value from json_each(p.vocabulary, '$.needs_person'))) as is_quiet,
               f.recent_output <> '' or f.agent_state is not null or f.reports_progress as is_watched
        from session_subjects s
        join session_facts f on f.subject_id = s.subject_id
        left join policy p on true
        where f.issue_status is null or not f.issue_status in (select value from json_each(p.vocabulary, '$.finished'))
        limit -1
    ) f
    left join policy p on true
    left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id and (e.until is null or f.observed_at < e.until)
    limit -1  -- each question is asked once, not once for each column that needs its answer
) w
left join board_texts t on t.reason = w.reason;

-- The state of each issue in progress, and of those that sweep blocked.
create view issue_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case w.reason
           when 'declared_wait' then w.declared_wait
           when 'host_plan' then w.host_plan
           when 'obstacle' then w.obstacle
           when 'exempt' then w.exemption
           when 'unavailable' then replace(replace(t.text, '{status}', replace(w.agent_status, '_', ' ')), '{agent}', coalesce(w.agent_name, ''))
           when 'escalated' then (select r.reason from recoveries r where r.kind = 'issue' and r.subject_id = w.subject_id
                                  and r.action = 'escalate' order by r.created_at desc limit 1)
           else t.text end as detail,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since
           when w.reason = 'escalated' then (select max(r.created_at) from recoveries r where r.kind = 'issue' and r.subject_id = w.subject_id
                                               and r.action = 'escalate')
           else w.idle_since end as since
from (
    select f.*, e.reason as exemption,
           case
               when f.has_live_run then 'live_run'
               when f.pending_wake_since between strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.wake_stuck_after_seconds))
                    and strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('+%f seconds', p.clock_ahead_max_seconds)) then 'pending_wake'
               when f.pending_wake_since is not null then 'stuck_wake'
               when f.declared_wait is not null then 'declared_wait'
               when f.host_plan is not null then 'host_plan'
               when strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', f.run_end_grace_seconds)) <= f.last_run_ended_at then 'recent'
               when f.observed_at < f.episode_began_at
                    or strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.orphan_grace_seconds)) <= f.idle_since then 'recent'
               when e.subject_id is not null then 'exempt'
               when f.agent_id is not null and f.agent_status is null then 'no_such_agent'
               when f.agent_id is not null and not f.agent_status in (select value from json_each(p.vocabulary, '$.wakeable')) then 'unavailable'
               when f.obstacle is not null then 'obstacle'
               when f.escalated then 'escalated'
               -- A day's escalations are used up: it would be escalated once more, and is left.
               when max(p.attempts_per_day_max, 1) <= f.escalations_last_day
                    and (f.unreachable is not null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
               else 'orphaned' end as reason
    from issue_subjects s
    join issue_facts f on f.subject_id = s.subject_id
    left join policy p on true
    left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id and (e.until is null or f.observed_at < e.until)
    limit -1  -- each question is asked once, not once for each column that needs its answer
) w
left join board_texts t on t.reason = w.reason
union all
-- What sweep blocked waits for a person, who has not taken it back.
select f.subject_id, f.tenant, f.identifier, f.title, f.agent_id, f.agent_name, t.state, r.reason, r.created_at
from recoveries r
join issue_facts f on f.subject_id = r.subject_id and f.open_recovery_id is null
left join board_texts t on t.reason = 'escalated'
where r.kind = 'issue' and r.settled_at is null and r.blocked_subject;

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
               when f.pending_wake_since between strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', p.wake_stuck_after_seconds))
                    and strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('+%f seconds', p.clock_ahead_max_seconds)) then 'pending_wake'
               when f.pending_wake_since is not null then 'stuck_wake'
               when strftime('%Y-%m-%dT%H:%M:%fZ', f.observed_at, printf('-%f seconds', coalesce(f.stalled_after_seconds, p.step_stalled_after_seconds))) <= f.idle_since then 'recent'
               when e.subject_id is not null then 'exempt'
               when f.agent_id is not null and f.agent_status is null then 'no_such_agent'
               when f.agent_id is not null and not f.agent_status in (select value from json_each(p.vocabulary, '$.wakeable')) then 'unavailable'
               when f.escalated then 'escalated'
               -- A day's escalations are used up: it would be escalated once more, and is left.
               when max(p.attempts_per_day_max, 1) <= f.escalations_last_day
                    and (f.agent_id is null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
               else 'stalled' end as reason
    from step_subjects s
    join step_facts f on f.subject_id = s.subject_id
    left join policy p on true
    left join exemptions e on e.kind = 'step' and e.subject_id = f.subject_id and (e.until is null or f.observed_at < e.until)
    limit -1  -- each question is asked once, not once for each column that needs its answer
) w
left join board_texts t on t.reason = w.reason;
