-- The candidates among Paperclip's sessions, and the facts that decide. docs/host-reference.md explains every column.

-- The runs that are running, found through companies, with which the index on the status begins.
create view running_sessions as
select s.id, s.company_id, s.agent_id, s.last_sign_at
from public.companies c
join sessions s on s.company_id = c.id
where s.run_status = 'running';

create view session_subjects as
select id as subject_id, agent_id as group_id, company_id::text as tenant from running_sessions;

-- Running sessions without a sign of life for a second, the shortest threshold, or with one in the future, which would otherwise hide them
-- for ever.
create view unattended_sessions as
select id as subject_id, agent_id as group_id, last_sign_at as since, company_id::text as tenant
from running_sessions
where last_sign_at < statement_timestamp() - interval '1 second' or last_sign_at > statement_timestamp() + interval '1 day';

create view session_candidates as
select subject_id, group_id, since, tenant from unattended_sessions
union
select s.id, s.agent_id, s.last_sign_at, s.company_id::text
from recoveries r join sessions s on s.id = r.subject_id
where r.kind = 'session' and r.settled_at is null;

create view session_facts as
select
    s.id as subject_id,
    c.id::text as tenant,
    -- The run's id tells it from the other runs of its issue.
    coalesce(left(i.identifier, 1000), 'run') || '/' || left(r.id::text, 8) as identifier,
    left(coalesce(i.title, 'heartbeat (' || coalesce(nullif(r.context_snapshot ->> 'wakeReason', ''), r.invocation_source) || ')'), 1000) as title,
    left(s.status, 1000) as status,
    -- A session does not wait for a blocker, question, review or hold of its issue: its run is running all the same.
    case when i.status in ('done', 'cancelled') then null
         when c.status <> 'active' then 'its company is ' || left(c.status, 1000)
         when exclusion.reason is not null then 'its issue is ' || exclusion.reason
         when snooze.until > statement_timestamp()
         then 'snoozed until ' || to_char(within_calendar(snooze.until) at time zone 'UTC', 'YYYY-MM-DD HH24:MI UTC') end
        as declared_wait,
    false as stall_paused,
    r.agent_id,
    left(a.name, 1000) as agent_name,
    left(a.status, 1000) as agent_status,
    i.id as issue_id,
    left(i.status, 1000) as issue_status,
    exists (select from runs o where o.live and o.company_id = r.company_id and o.issue_key = i.id::text and o.id <> r.id)
        as issue_has_live_run,
    null::timestamptz as issue_wake_since,
    -- A run has one process; a process that is started again is another run.
    within_calendar(r.created_at) as started_at,
    s.last_sign_at as progressed_at,
    case when r.status not in ('running', 'queued', 'scheduled_retry')
         then within_calendar(coalesce(r.finished_at, r.updated_at)) end as ended_at,
    case when r.status <> 'running' then r.exit_code end as exit_code,
    null::integer as silent_after_seconds,
    -- The server keeps a running process's output in files, and writes excerpts to the run when it ends.
    '' as recent_output,
    null::text as directory,
    false as takes_commands,
    false as reports_progress,
    false as takes_nudges,
    null::text as agent_state,
    null::text as agent_state_kind,
    null::timestamptz as agent_state_since,
    null::text as agent_question,
    null::text as agent_state_evidence,
    null::timestamptz as pending_command_since,
    s.last_sign_at as idle_since,
    episode.began_at as episode_began_at,
    ledger.attempts,
    ledger.attempts_last_day,
    ledger.last_attempt_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, false) as escalated,
    ledger.escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from sessions s
join public.heartbeat_runs r on r.id = s.id
join public.companies c on c.id = r.company_id
left join public.agents a on a.id = r.agent_id
left join public.issues i on i.id = as_id(r.context_snapshot ->> 'issueId') and i.company_id = r.company_id
left join issue_exclusions exclusion on exclusion.issue_id = i.id
left join lateral (
    select (array_agg(o.id))[1] as id, max(o.action) as action, max(o.since) as since
    from open_recoveries o where o.kind = 'session' and o.subject_id = r.id
) o on true
-- The decisions of a person, or of the host's own watch over silent runs, about this run.
left join lateral (
    select max(d.snoozed_until) as until
    from public.heartbeat_run_watchdog_decisions d
    where d.company_id = r.company_id and d.run_id = r.id and d.decision in ('snooze', 'continue')
) snooze on true
-- The beginning of the episode, by the ledger. A sign of life begins one as well.
cross join lateral (
    select within_calendar(greatest(r.created_at, (
        select max(e.created_at) from recoveries e
        where e.kind = 'session' and e.subject_id = r.id and e.action in ('escalate', 'recover', 'hand_over')
          and e.created_at <= statement_timestamp()
    ))) as began_at
) episode
left join lateral (
    select count(*) filter (where e.action = 'continue' and e.created_at >= episode.began_at) as attempts,
           count(*) filter (where e.action = 'continue' and e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as attempts_last_day,
           max(e.created_at) filter (where e.action = 'continue') as last_attempt_at,
           count(*) filter (where e.action = 'escalate' and e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp())
               as escalations_last_day
    from recoveries e where e.kind = 'session' and e.subject_id = r.id
) ledger on true;
