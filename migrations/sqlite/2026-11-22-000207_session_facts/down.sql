drop view issue_facts;
drop view unattended_issues;
drop view session_facts;
drop view issue_relaunches;
drop view issue_sessions;
drop view session_episodes;
drop view session_subjects;
drop view session_candidates;
drop view unattended_sessions;

create view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, i.updated_at as since, i.tenant
from issues i
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select 1 from runs r where r.issue_id = i.id and r.status in ('queued', 'scheduled_retry', 'running'))
  and not exists (select 1 from wakes w where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
                  and w.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 minute'));

create view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    i.title,
    i.status,
    i.assignee_agent_id as agent_id,
    a.name as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    exists (select 1 from issue_runs r where r.issue_id = i.id and r.live)
        or exists (select 1 from plans p join plan_steps s on s.plan_id = p.id join worked_steps r on r.step_id = s.id
                   where p.issue_id = i.id)
        or exists (select 1 from runs r where r.id = i.checkout_run_id and r.status in ('queued', 'scheduled_retry', 'running'))
        as has_live_run,
    (select min(since) from (
        select min(w.created_at) as since from wakes w
        where w.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
        union all
        select min(w.created_at) from plans p join plan_steps s on s.plan_id = p.id join wakes w on w.plan_step_id = s.id
        where p.issue_id = i.id and w.status in ('queued', 'deferred', 'claimed')
    )) as pending_wake_since,
    case when i.waiting_for is not null and coalesce(i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 1) then i.waiting_for
         when i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now') then coalesce('until ' || strftime('%Y-%m-%d %H:%M', i.wait_until), 'for ever') end
        as declared_wait,
    cast(null as text) as obstacle,
    (select r.id from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1) as last_run_id,
    max(
        i.updated_at,
        coalesce((select max(coalesce(r.finished_at, r.created_at)) from issue_runs r where r.issue_id = i.id), ''),
        coalesce((select max(coalesce(r.finished_at, r.created_at)) from plans p join plan_steps s on s.plan_id = p.id
                  join runs r on r.plan_step_id = s.id where p.issue_id = i.id), '')
    ) as idle_since,
    episode.began_at as episode_began_at,
    max(
        (select count(*) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'
         and c.created_at >= episode.began_at)
            + (select count(*) from host_continuations c where c.issue_id = i.id and c.created_at >= episode.began_at),
        -- The ledger's number outlives runs that the host prunes.
        (select coalesce(max(c.attempt), 0) from recoveries c where c.kind = 'issue' and c.subject_id = i.id
         and c.action = 'continue' and c.created_at >= episode.began_at)
    ) as attempts,
    (select count(*) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'
     and c.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours'))
        + (select count(*) from host_continuations c where c.issue_id = i.id and c.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours'))
        as attempts_last_day,
    nullif(max(
        coalesce((select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'), ''),
        coalesce((select max(c.created_at) from host_continuations c where c.issue_id = i.id), '')
    ), '') as last_attempt_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.created_at >= episode.began_at, 0) as escalated,
    (select count(*) from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
     and e.created_at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours')) as escalations_last_day,
    o.id as open_recovery_id,
    o.created_at as open_recovery_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as observed_at
from issues i
left join agents a on a.id = i.assignee_agent_id
left join recoveries o on o.kind = 'issue' and o.subject_id = i.id and o.settled_at is null
                      and not (o.blocked_subject and i.status = 'blocked')
join issue_episodes episode on episode.issue_id = i.id;
