-- The session as sweep sees it: who is nominated, and the facts that decide. docs/hosts.md explains every column.

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
                and not exists (select from issues i where i.id = s.issue_id and i.tenant = s.tenant and i.status in ('done', 'cancelled'))
           -- One that nobody can have shown would otherwise keep it out of sight for ever.
           else coalesce(s.last_progress_at, s.started_at, s.created_at) < statement_timestamp() - interval '1 second'
                or coalesce(s.last_progress_at, s.started_at, s.created_at) > statement_timestamp() + interval '1 day'
                or s.agent_state in ('waiting', 'exhausted') end;

create view session_candidates as
select subject_id, group_id, since, tenant from unattended_sessions
union all
select s.id, coalesce(s.agent_id, s.id), coalesce(s.ended_at, s.last_activity_at, s.started_at, s.created_at), s.tenant
from recoveries r join sessions s on s.id = r.subject_id
where r.kind = 'session' and r.settled_at is null
  and not exists (select from unattended_sessions u where u.subject_id = s.id);

create view session_facts as
select
    s.id as subject_id,
    s.tenant,
    s.identifier,
    left(s.title, 1000) as title,
    s.status,
    -- An issue that waits for a person, or declares what for, keeps its sessions waiting.
    case when s.stall_paused then 'its stall detection is paused'
         when s.agent_state = 'exhausted' and s.resumes_at > statement_timestamp()
         then 'its agent''s quota is used up until ' || to_char(s.resumes_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') || ' UTC'
         when s.agent_id is not null and (i.assignee_user_id is not null or i.assignee_agent_id <> s.agent_id) then 'its issue is another''s now'
         when i.status in ('blocked', 'in_review') then 'its issue is ' || replace(i.status, '_', ' ')
         when i.waiting_for is not null and coalesce(i.wait_until > statement_timestamp(), true) then 'its issue waits: ' || left(i.waiting_for, 1000)
         when i.wait_until > statement_timestamp()
         then 'its issue waits ' || coalesce('until ' || to_char(i.wait_until, 'YYYY-MM-DD HH24:MI'), 'for ever') end
        as declared_wait,
    s.agent_id,
    left(a.name, 1000) as agent_name,
    a.status as agent_status,
    i.id as issue_id,
    i.status as issue_status,
    exists (select from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
        or exists (select from runs r where r.id = i.checkout_run_id and r.status in ('queued', 'scheduled_retry', 'running'))
        or exists (select from issue_sessions o where o.issue_id = i.id and o.status = 'active' and o.ended_at is null and o.id <> s.id)
        or exists (select from plans p join plan_steps t on t.plan_id = p.id join live_step_runs r on r.step_id = t.id
                   where p.issue_id = i.id and p.tenant = i.tenant)
        as issue_has_live_run,
    (select min(c.created_at) from issue_continuations c where c.issue_id = i.id and c.session_id is distinct from s.id) as issue_wake_since,
    coalesce(s.started_at, s.created_at) as started_at,
    coalesce(s.last_progress_at, s.started_at, s.created_at) as progressed_at,
    s.ended_at,
    s.exit_code,
    s.silent_after_seconds,
    right(s.recent_output, 65536) as recent_output,
    true as takes_commands,
    s.last_progress_at is not null as reports_progress,
    s.takes_nudges,
    s.agent_state,
    left(s.agent_state_kind, 100) as agent_state_kind,
    coalesce(s.agent_state_since, s.updated_at) as agent_state_since,
    left(s.agent_question, 1000) as agent_question,
    left(s.agent_state_evidence, 1000) as agent_state_evidence,
    (select min(c.created_at) from session_commands c where c.session_id = s.id and c.status = 'queued') as pending_command_since,
    greatest(coalesce(s.started_at, s.created_at), s.last_activity_at, s.last_progress_at) as idle_since,
    episode.began_at as episode_began_at,
    (select count(*) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at >= episode.began_at) as attempts,
    (select count(*) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as attempts_last_day,
    (select max(c.created_at) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue')
        as last_attempt_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, false) as escalated,
    (select count(*) from recoveries e where e.kind = 'session' and e.subject_id = s.id and e.action = 'escalate'
     and e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from sessions s
left join agents a on a.id = s.agent_id
-- Another tenant's issue is none of the session's business.
left join issues i on i.id = s.issue_id and i.tenant = s.tenant
left join open_recoveries o on o.kind = 'session' and o.subject_id = s.id
-- As far as the ledger tells; a sign of life begins one as well, and which signs count is decided in Rust.
cross join lateral (
    select greatest(s.created_at,
        (select max(e.created_at) from recoveries e
         where e.kind = 'session' and e.subject_id = s.id and e.action in ('escalate', 'recover', 'hand_over')
         and e.created_at <= statement_timestamp())
    ) as began_at
) episode;
