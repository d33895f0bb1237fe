drop view session_work_state;
drop view session_policy;
drop view policy;
drop view policy_limits;

create view policy as
select coalesce(max(seconds) filter (where key = 'orphan_grace_seconds'), 120) as orphan_grace_seconds,
       coalesce(max(seconds) filter (where key = 'step_stalled_after_seconds'), 1800) as step_stalled_after_seconds,
       coalesce(max(seconds) filter (where key = 'wake_stuck_after_seconds'), 3600) as wake_stuck_after_seconds,
       coalesce(max(seconds) filter (where key = 'attempts_max'), 1) as attempts_max,
       coalesce(max(seconds) filter (where key = 'attempts_per_day_max'), 4) as attempts_per_day_max
from (
    select l.key, case when l.type in ('integer', 'real') then l.value end as seconds
    from (select iif(json_valid(s.policy), s.policy, '{}') as policy
          from sweeps s where s.policy <> '{}' and not s.partial order by s.started_at desc limit 1) latest
    join json_each(latest.policy) l
)
where seconds between 0 and 315576000;  -- ten years
