-- Every subject's state in one word, for boards and for `sweep status`, by the rules of src/rules.rs and src/rules/session.rs:
-- a test holds the two together. And what a sweep did in vain.

create view issue_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       case when w.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else w.state end as state,
       case w.state
           when 'active' then case when w.has_live_run then 'a run is live' when w.host_plan is not null then w.host_plan
                                   else 'it is not idle for long enough' end
           when 'queued' then case when w.is_stuck then 'stuck wake' else 'a wake is queued' end
           when 'waiting' then w.declared_wait
           when 'exempt' then w.exemption
           when 'skipped' then case when w.agent_status is null then 'its agent does not exist' when w.can_be_woken then w.obstacle
                                    else coalesce(w.agent_name, '') || ' is ' || replace(w.agent_status, '_', ' ') end
           when 'escalated' then (select r.reason from recoveries r where r.kind = 'issue' and r.subject_id = w.subject_id
                                  and r.action = 'escalate' order by r.created_at desc limit 1)
           else 'nobody is working on it' end as detail,
       case w.state
           when 'queued' then w.pending_wake_since
           when 'escalated' then (select max(r.created_at) from recoveries r where r.kind = 'issue' and r.subject_id = w.subject_id
                                  and r.action = 'escalate')
           else w.idle_since end as since
from (
    select f.*,
           f.pending_wake_since not between f.observed_at - (select make_interval(secs => wake_stuck_after_seconds) from policy)
               and f.observed_at + interval '1 minute' as is_stuck,
           case when f.has_live_run then 'active'
                when f.pending_wake_since is not null then 'queued'
                when f.declared_wait is not null then 'waiting'
                when f.host_plan is not null then 'active'
                when f.observed_at - make_interval(secs => f.run_end_grace_seconds) <= f.last_run_ended_at then 'active'
                when f.observed_at < f.episode_began_at
                     or f.observed_at - (select make_interval(secs => orphan_grace_seconds) from policy) <= f.idle_since then 'active'
                when f.exemption is not null then 'exempt'
                when f.obstacle is not null or not f.can_be_woken then 'skipped'
                when f.escalated then 'escalated'
                -- A day's escalations are used up: it would be escalated once more, and is left.
                when (select greatest(attempts_per_day_max, 1) from policy) <= f.escalations_last_day
                     and (f.unreachable is not null or (select attempts_max from policy) <= f.attempts
                          or (select attempts_per_day_max from policy) <= f.attempts_last_day) then 'escalated'
                else 'orphaned' end as state
    from (
        select f.*, e.reason as exemption, coalesce(f.agent_status in ('active', 'idle', 'running', 'error'), false) as can_be_woken
        from issue_facts f
        left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
                              and (e.until is null or f.observed_at < e.until)
        where f.status = 'in_progress' and f.agent_id is not null and not f.assigned_to_user
        offset 0  -- each question is asked once, not once for each column that needs its answer
    ) f
) w
union all
-- What sweep blocked waits for a person, who has not taken it back.
select i.id, i.tenant, i.identifier, left(i.title, 1000), i.assignee_agent_id, left(a.name, 1000), 'escalated', r.reason, r.created_at
from recoveries r
join issues i on i.id = r.subject_id and i.status = 'blocked'
left join agents a on a.id = i.assignee_agent_id
where r.kind = 'issue' and r.settled_at is null and r.blocked_subject;

create view step_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       case when w.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else w.state end as state,
       case w.state
           when 'active' then case when w.has_live_run then 'a run is live' else 'it is not idle for long enough' end
           when 'queued' then case when w.is_stuck then 'stuck wake' else 'a wake is queued' end
           when 'exempt' then w.exemption
           when 'skipped' then case when w.agent_status is null then 'its agent does not exist'
                                    else coalesce(w.agent_name, '') || ' is ' || replace(w.agent_status, '_', ' ') end
           when 'escalated' then (select r.reason from recoveries r where r.kind = 'step' and r.subject_id = w.subject_id
                                  and r.action = 'escalate' order by r.created_at desc limit 1)
           else 'nobody is working on it' end as detail,
       case w.state
           when 'queued' then w.pending_wake_since
           when 'escalated' then (select max(r.created_at) from recoveries r where r.kind = 'step' and r.subject_id = w.subject_id
                                  and r.action = 'escalate')
           else w.idle_since end as since,
       w.plan_id
from (
    select f.*,
           f.pending_wake_since not between f.observed_at - (select make_interval(secs => wake_stuck_after_seconds) from policy)
               and f.observed_at + interval '1 minute' as is_stuck,
           case when f.has_live_run then 'active'
                when f.pending_wake_since is not null then 'queued'
                when f.observed_at - make_interval(secs => coalesce(f.stalled_after_seconds, (select step_stalled_after_seconds from policy)))
                     <= f.idle_since then 'active'
                when f.exemption is not null then 'exempt'
                -- Without an agent nobody can be woken, and a person is told instead.
                when f.agent_id is not null and not f.can_be_woken then 'skipped'
                when f.escalated then 'escalated'
                -- A day's escalations are used up: it would be escalated once more, and is left.
                when (select greatest(attempts_per_day_max, 1) from policy) <= f.escalations_last_day
                     and (f.agent_id is null or (select attempts_max from policy) <= f.attempts
                          or (select attempts_per_day_max from policy) <= f.attempts_last_day) then 'escalated'
                else 'stalled' end as state
    from (
        select f.*, e.reason as exemption, coalesce(f.agent_status in ('active', 'idle', 'running', 'error'), false) as can_be_woken
        from step_facts f
        left join exemptions e on e.kind = 'step' and e.subject_id = f.subject_id
                              and (e.until is null or f.observed_at < e.until)
        where f.status = 'in_progress' and f.plan_status in ('executing', 'stalled')
        offset 0
    ) f
) w;

create view session_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       case when w.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else w.state end as state,
       case w.state
           when 'active' then case when w.ended_at is not null then 'its process has ended' else 'it is not idle for long enough' end
           when 'queued' then case when w.command_on_its_way then 'a command is on its way to it'
                                   when w.is_stuck then 'stuck wake' else 'a wake is queued' end
           when 'waiting' then w.declared_wait
           when 'exempt' then w.exemption
           when 'skipped' then case when w.agent_status is null then 'its agent does not exist'
                                    else coalesce(w.agent_name, '') || ' is ' || replace(w.agent_status, '_', ' ') end
           when 'escalated' then (select r.reason from recoveries r where r.kind = 'session' and r.subject_id = w.subject_id
                                  and r.action = 'escalate' order by r.created_at desc limit 1)
           when 'crashed' then 'its process ended ' || coalesce('with exit code ' || w.exit_code, 'by a signal, or unseen')
           else 'it shows no sign of life' end as detail,
       case w.state
           when 'queued' then case when w.command_on_its_way then w.pending_command_since else w.issue_wake_since end
           when 'crashed' then w.ended_at
           when 'escalated' then (select max(r.created_at) from recoveries r where r.kind = 'session' and r.subject_id = w.subject_id
                                  and r.action = 'escalate')
           else w.idle_since end as since
from (
    select f.*,
           f.issue_wake_since not between f.observed_at - (select make_interval(secs => wake_stuck_after_seconds) from policy)
               and f.observed_at + interval '1 minute' as is_stuck,
           case when f.declared_wait is not null then 'waiting'
                when f.command_on_its_way then 'queued'
                when f.ended_at is not null and f.exit_code is distinct from 0 and not f.issue_has_live_run and f.observed_at >= f.ended_at
                     and f.issue_wake_since is not null then 'queued'
                when f.ended_at is not null and (f.exit_code = 0 or f.issue_has_live_run or f.observed_at < f.ended_at) then 'active'
                -- A loop, a question and a lack of progress are seen by sweeps alone: until one tells of it, such a session is active; then escalated, until one sees it end.
                when f.ended_at is null and not f.is_quiet and not f.escalated then 'active'
                when f.exemption is not null then 'exempt'
                when f.agent_id is not null and not f.can_be_woken then 'skipped'
                when f.escalated and (f.idle_since <= f.open_recovery_at or f.ended_at is null and not f.is_quiet)
                     or (select greatest(attempts_per_day_max, 1) from policy) <= f.escalations_last_day then 'escalated'
                when f.ended_at is not null then 'crashed'
                else 'silent' end as state
    from (
        select f.*, e.reason as exemption, coalesce(f.agent_status in ('active', 'idle', 'running', 'error'), false) as can_be_woken,
               coalesce(f.observed_at - (select make_interval(secs => nudge_delay_seconds) from session_policy)
                            <= f.pending_command_since, false) as command_on_its_way,
               f.idle_since < f.observed_at - make_interval(secs => coalesce(f.silent_after_seconds, (
                   select case when f.takes_commands then session_silent_after_seconds else run_silent_after_seconds end from session_policy)))
                   and coalesce(f.agent_state not in ('waiting', 'exhausted'), true) as is_quiet
        from session_facts f
        left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id
                              and (e.until is null or f.observed_at < e.until)
        where f.status = 'active' and coalesce(f.issue_status not in ('done', 'cancelled'), true)
        offset 0
    ) f
) w;

-- A continuation was in vain if a run that had begun before its wake, and was not started by it, reported afterwards: its
-- owner was alive. Only success is a report: a run is also failed, timed out, interrupted or cancelled by others.
create view false_rescues as
select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, report.at as reported_at
from recoveries c
cross join lateral (
    select min(r.finished_at) as at
    from (
        select r.* from runs r where c.kind = 'issue' and r.issue_id = c.subject_id
        union all
        select r.* from issues i join plans p on p.issue_id = i.id and p.tenant = i.tenant
        join plan_steps s on s.plan_id = p.id join runs r on r.plan_step_id = s.id
        where c.kind = 'issue' and i.id = c.subject_id
        union all
        select r.* from runs r where c.kind = 'step' and r.plan_step_id = c.subject_id
        union all
        select r.* from wakes w join runs r on r.wake_id = w.id where c.kind = 'step' and w.plan_step_id = c.subject_id
    ) r
    where r.status = 'succeeded' and r.created_at < c.created_at and c.created_at < r.finished_at
      and r.wake_id is distinct from c.wake_id
) report
where c.action = 'continue' and report.at is not null;
