-- Every session's state in one word, by the rules of src/rules/session.rs: a test holds the two together.

-- The limits of the latest sweep of everything; they were written as JSON, which may hold anything.
create view policy_limits as
select key, seconds
from (
    select l.key, case jsonb_typeof(l.value) when 'number' then l.value::numeric end as seconds
    from (select case jsonb_typeof(s.policy) when 'object' then s.policy else '{}' end as policy
          from sweeps s where s.policy <> '{}' and not s.partial order by s.started_at desc limit 1) latest
    cross join lateral jsonb_each(latest.policy) l
) limits
where seconds between 0 and 315576000;  -- ten years

create or replace view policy as
select coalesce(max(seconds) filter (where key = 'orphan_grace_seconds'), 120)::float8 as orphan_grace_seconds,
       coalesce(max(seconds) filter (where key = 'step_stalled_after_seconds'), 1800)::float8 as step_stalled_after_seconds,
       coalesce(max(seconds) filter (where key = 'wake_stuck_after_seconds'), 3600)::float8 as wake_stuck_after_seconds,
       coalesce(max(seconds) filter (where key = 'attempts_max'), 1)::float8 as attempts_max,
       coalesce(max(seconds) filter (where key = 'attempts_per_day_max'), 4)::float8 as attempts_per_day_max
from policy_limits;

create view session_policy as
select coalesce(max(seconds) filter (where key = 'session_silent_after_seconds'), 300)::float8 as session_silent_after_seconds,
       coalesce(max(seconds) filter (where key = 'run_silent_after_seconds'), 3600)::float8 as run_silent_after_seconds,
       coalesce(max(seconds) filter (where key = 'nudge_delay_seconds'), 120)::float8 as nudge_delay_seconds
from policy_limits;

create view session_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name, w.state,
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
           f.observed_at - (select make_interval(secs => wake_stuck_after_seconds) from policy) > f.issue_wake_since as is_stuck,
           case when f.declared_wait is not null then 'waiting'
                when f.command_on_its_way then 'queued'
                when f.ended_at is not null and f.exit_code is distinct from 0 and not f.issue_has_live_run and f.observed_at >= f.ended_at
                     and f.issue_wake_since is not null then 'queued'
                when f.ended_at is not null and (f.exit_code = 0 or f.issue_has_live_run or f.observed_at < f.ended_at) then 'active'
                -- A loop is seen by sweeps alone: until one tells of it, such a session is active; then escalated, until one sees it end.
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
                   select case when f.takes_commands then session_silent_after_seconds else run_silent_after_seconds end from session_policy))) as is_quiet
        from session_facts f
        left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id
                              and (e.until is null or f.observed_at < e.until)
        where f.status = 'active' and coalesce(f.issue_status not in ('done', 'cancelled'), true)
        offset 0
    ) f
) w;
