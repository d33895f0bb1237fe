drop view session_work_state;
drop view session_policy;

create or replace view policy as
select coalesce(max(seconds) filter (where key = 'orphan_grace_seconds'), 120)::float8 as orphan_grace_seconds,
       coalesce(max(seconds) filter (where key = 'step_stalled_after_seconds'), 1800)::float8 as step_stalled_after_seconds,
       coalesce(max(seconds) filter (where key = 'wake_stuck_after_seconds'), 3600)::float8 as wake_stuck_after_seconds,
       coalesce(max(seconds) filter (where key = 'attempts_max'), 1)::float8 as attempts_max,
       coalesce(max(seconds) filter (where key = 'attempts_per_day_max'), 4)::float8 as attempts_per_day_max
from (
    select l.key, case jsonb_typeof(l.value) when 'number' then l.value::numeric end as seconds
    from (select case jsonb_typeof(s.policy) when 'object' then s.policy else '{}' end as policy
          from sweeps s where s.policy <> '{}' and not s.partial order by s.started_at desc limit 1) latest
    cross join lateral jsonb_each(latest.policy) l
) limits
where seconds between 0 and 315576000;  -- ten years

drop view policy_limits;
