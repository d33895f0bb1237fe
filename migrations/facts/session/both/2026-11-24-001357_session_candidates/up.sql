-- The candidates among the sessions.

-- The sessions in progress, healthy or not: active, and not ended well. The candidates are a share of them.
create view session_subjects as
select s.id as subject_id, coalesce(s.agent_id, s.id) as group_id, s.tenant
from sessions s where s.status = 'active' and (s.ended_at is null or coalesce(s.exit_code <> 0, true));

-- Active sessions whose process ended, whose agent waits for a person, or which made no progress for a second, the shortest
-- threshold. Whether the output repeats itself is decided in Rust.
create view unattended_sessions as
select s.id as subject_id, coalesce(s.agent_id, s.id) as group_id,
       coalesce(s.ended_at, s.last_activity_at, s.started_at, s.created_at) as since, s.tenant
from sessions s
where s.status = 'active' and not s.stall_paused
  and case when s.ended_at is not null
           then coalesce(s.exit_code <> 0, true)
                and not exists (select 1 from issues i where i.id = s.issue_id and i.tenant = s.tenant and i.status in ('done', 'cancelled'))
           -- A sign of life in the future would otherwise hide the session for ever.
           else coalesce(s.last_progress_at, s.started_at, s.created_at) < {{ before(at_statement, 1) }}
                or coalesce(s.last_progress_at, s.started_at, s.created_at) > {{ after(at_statement, 86400) }}
                or s.agent_state in ('waiting', 'exhausted') end;

create view session_candidates as
select subject_id, group_id, since, tenant from unattended_sessions
union all
select s.id, coalesce(s.agent_id, s.id), coalesce(s.ended_at, s.last_activity_at, s.started_at, s.created_at), s.tenant
from recoveries r join sessions s on s.id = r.subject_id
where r.kind = 'session' and r.settled_at is null
  and not exists (select 1 from unattended_sessions u where u.subject_id = s.id);
