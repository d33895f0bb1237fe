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
        from issue_subjects s join issue_facts f on f.subject_id = s.subject_id
        left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
                              and (e.until is null or f.observed_at < e.until)
        offset 0  -- each question is asked once, not once for each column that needs its answer
    ) f
) w
union all
-- What sweep blocked waits for a person, who has not taken it back.
select i.id, i.company_id::text, left(i.identifier, 1000), left(i.title, 1000), i.assignee_agent_id, left(a.name, 1000), 'escalated',
       r.reason, r.created_at
from recoveries r
join public.issues i on i.id = r.subject_id and i.status = 'blocked'
left join public.agents a on a.id = i.assignee_agent_id
where r.kind = 'issue' and r.settled_at is null and r.blocked_subject;

-- A run that is running has not ended, and takes no command: it is silent or it is not.
create view session_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       case when w.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else w.state end as state,
       case w.state
           when 'active' then 'it is not idle for long enough'
           when 'waiting' then w.declared_wait
           when 'exempt' then w.exemption
           when 'skipped' then case when w.agent_status is null then 'its agent does not exist'
                                    else coalesce(w.agent_name, '') || ' is ' || replace(w.agent_status, '_', ' ') end
           when 'escalated' then (select r.reason from recoveries r where r.kind = 'session' and r.subject_id = w.subject_id
                                  and r.action = 'escalate' order by r.created_at desc limit 1)
           else 'it shows no sign of life' end as detail,
       case w.state
           when 'escalated' then (select max(r.created_at) from recoveries r where r.kind = 'session' and r.subject_id = w.subject_id
                                  and r.action = 'escalate')
           else w.idle_since end as since
from (
    select f.*,
           case when f.declared_wait is not null then 'waiting'
                when f.observed_at - (select make_interval(secs => run_silent_after_seconds) from session_policy) <= f.idle_since
                then 'active'
                when f.exemption is not null then 'exempt'
                when not f.can_be_woken then 'skipped'
                -- A sign of life after an escalation begins anew, though no sweep has seen it.
                when f.escalated and f.idle_since <= f.open_recovery_at
                     or (select greatest(attempts_per_day_max, 1) from policy) <= f.escalations_last_day then 'escalated'
                else 'silent' end as state
    from (
        select f.*, e.reason as exemption, coalesce(f.agent_status in ('active', 'idle', 'running', 'error'), false) as can_be_woken
        from session_subjects running
        -- One by one: joined, all that ever ran would be read.
        cross join lateral (select * from session_facts f where f.subject_id = running.subject_id offset 0) f
        left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id
                              and (e.until is null or f.observed_at < e.until)
        where coalesce(f.issue_status not in ('done', 'cancelled'), true)
        offset 0  -- each question is asked once, not once for each column that needs its answer
    ) f
) w;

-- A continuation was in vain if a run that had begun before its wake, and was not started by it, reported afterwards: its
-- owner was alive. Success and output are reports; a run is also failed, timed out, interrupted or cancelled by others.
create view false_rescues as
select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, within_calendar(report.at) as reported_at
from recoveries c
join public.issues i on i.id = c.subject_id
cross join lateral (
    select min(signs.at) as at
    from public.heartbeat_runs r
    cross join lateral (values (r.last_output_at), (case r.status when 'succeeded' then r.finished_at end)) signs (at)
    where r.company_id = i.company_id and r.context_snapshot ->> 'issueId' = i.id::text
      and not is_too_large(r.context_snapshot) and r.created_at < c.created_at and c.created_at < signs.at and r.wakeup_request_id is distinct from c.wake_id
) report
where c.kind = 'issue' and c.action = 'continue' and report.at is not null;
