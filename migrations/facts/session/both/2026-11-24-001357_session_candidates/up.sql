-- Which sessions are nominated.

-- Active, and not ended well: what the candidates are a share of.
create view session_subjects as
select s.id as subject_id, coalesce(s.agent_id, s.id) as group_id, s.tenant
from sessions s where s.status = 'active' and (s.ended_at is null or s.exit_code is distinct from 0);

-- Active, and its process ended, its agent waits for a person, or it made no step forward for a second, the shortest threshold
-- that there is. Whether its output repeats itself is decided in Rust.
create view unattended_sessions as
select s.id as subject_id, coalesce(s.agent_id, s.id) as group_id,
       coalesce(s.ended_at, s.last_activity_at, s.started_at, s.created_at) as since, s.tenant
from sessions s
where s.status = 'active' and not s.stall_paused
  and case when s.ended_at is not null
           then s.exit_code is distinct from 0
                and not exists (select 1 from issues i where i.id = s.issue_id and i.tenant = s.tenant and i.status in ('done', 'cancelled'))
           -- One that nobody can have shown would otherwise keep it out of sight for ever.
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
