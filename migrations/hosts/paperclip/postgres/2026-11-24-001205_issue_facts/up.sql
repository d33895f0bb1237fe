-- The candidates among Paperclip's issues, and the facts that decide. docs/host-reference.md explains every column.

-- The issues in progress, healthy or not. The candidates are a share of them.
create view issue_subjects as
select i.id as subject_id, i.assignee_agent_id as group_id, i.company_id::text as tenant
from public.companies c
join public.issues i on i.company_id = c.id
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null;

-- Issues in progress that an agent has, and on which at first sight nobody works. A wake hides its issue for a minute only:
-- decisions.md#a-wake-hides-its-issue-for-a-minute. Each `not exists` is one hash anti join; joined by `or` they would be nested loops. The
-- tenant is in the scan, so that one company can be swept alone; the agent is the group, so that its oldest work is examined first.
create view unattended_issues as
select i.id as subject_id, i.assignee_agent_id as group_id, within_calendar(i.updated_at) as since, i.company_id::text as tenant
from public.companies c
join public.issues i on i.company_id = c.id
where i.status = 'in_progress' and i.assignee_agent_id is not null and i.assignee_user_id is null
  and not exists (select from runs r where r.live and r.company_id = i.company_id and r.issue_key = i.id::text)
  and not exists (select from runs r where r.live and r.id = i.checkout_run_id)
  and not exists (select from runs r where r.live and r.id = i.execution_run_id)
  -- Two comparisons: of a `between` PostgreSQL expects so few rows that it would compare each issue with each wake.
  and not exists (select from pending_wakes w where w.company_id = i.company_id and w.issue_key = i.id::text
                  and w.created_at > statement_timestamp() - interval '1 minute' and (w.created_at > statement_timestamp()) is not true);

create view issue_candidates as
select subject_id, group_id, since, tenant from unattended_issues
union
select i.id, coalesce(i.assignee_agent_id, i.id), within_calendar(i.updated_at), i.company_id::text
from recoveries r join issues i on i.id = r.subject_id
where r.kind = 'issue' and r.settled_at is null and not (r.blocked_subject and i.status = 'blocked');

-- The agents that have a run or a wake too large to read.
create view too_large as
select r.company_id, r.agent_id
from public.companies c
join public.heartbeat_runs r on r.company_id = c.id
where r.status in ('queued', 'scheduled_retry', 'running') and is_too_large(r.context_snapshot)
union all
select w.company_id, w.agent_id
from public.agents a
join public.agent_wakeup_requests w on w.company_id = a.company_id and w.agent_id = a.id
where w.status in ('queued', 'deferred_issue_execution', 'claimed') and is_too_large(w.payload);

-- The commands that a person runs to have an issue go on, as a list of JSON: the statement by which the owner of these tables releases the
-- environments of runs, and, if `are_called`, the server's own call for each recovery that forbids to start the issue. As a function, it is
-- planned only for issues that need it.
create function resume_commands_of(company uuid, issue uuid, unreleased_runs uuid[], are_called boolean) returns text
language sql stable security definer set search_path = sweep, pg_temp
return (
    select jsonb_agg(command.text order by command.place, command.created_at, command.id)::text
    from ((
        select 1 as place, null::timestamptz as created_at, null::uuid as id, jsonb_build_object('sql',
            'update environment_leases set status = ''released'', released_at = now() where heartbeat_run_id in ('''
            || array_to_string(unreleased_runs, ''', ''') || ''')') as text
        where unreleased_runs is not null
    ) union all (
        select 2, a.created_at, a.id, jsonb_build_object(
            'path', '/api/issues/' || issue || '/recovery-actions/resolve',
            'body', jsonb_build_object(
                'actionId', a.id, 'outcome', 'restored', 'sourceIssueStatus', 'todo',
                'executionReconciliation', jsonb_build_object(
                    'runId', a.run_key, 'providerStopped', true, 'actionOutcome', 'not_performed',
                    'outcomeEvidence', 'A person looked at the last run, and has its agent go on with the issue.')))
        from held_actions a
        where are_called and a.company_id = company and a.issue_id = issue and as_id(a.run_key) is not null
        order by a.created_at, a.id limit 40  -- a further wake is for the rest
    )) command
);
comment on function resume_commands_of is 'called by views';
revoke execute on function resume_commands_of from public;

create view issue_facts as
select
    i.id as subject_id,
    i.company_id::text as tenant,
    left(i.identifier, 1000) as identifier,
    left(i.title, 1000) as title,
    left(i.status, 1000) as status,
    i.assignee_agent_id as agent_id,
    left(a.name, 1000) as agent_name,
    left(a.status, 1000) as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    exists (select from runs r where r.live and r.company_id = i.company_id and r.issue_key = i.id::text)
        or exists (select from runs r where r.live and r.company_id = i.company_id and r.id in (i.checkout_run_id, i.execution_run_id))
        as has_live_run,
    -- A run without output is a session of its own, of which a person is notified: the server that started it ends it.
    null::timestamptz as run_heard_of_at,
    null::text as lost_run,
    pending.created_at as pending_wake_since,
    pending.detail as pending_wake,
    coalesce(
        (select w.reason from issue_waits w where w.issue_id = i.id),
        -- A person who stops a run answers, until something newer happens: another run, a person's comment, change or wake, or the release
        -- of a hold. The database dates these; the server dates the end of a run.
        (select stop.by || ' stopped its run, at ' || to_char(stop.at at time zone 'UTC', 'YYYY-MM-DD HH24:MI UTC')
         from (
             select r.cancelled_by as by, within_calendar(ended.at) as ended_at,
                    within_calendar(ended.at) + make_interval(secs => clock.behind_seconds) as at
             from (select * from runs r where r.company_id = i.company_id and r.issue_key = i.id::text and r.status = 'cancelled'
                   order by r.created_at desc, r.id limit 1000) r
             -- An end in the future is dated back, or nothing could be newer.
             cross join lateral (select case when r.finished_at <= statement_timestamp() then r.finished_at else r.created_at end as at) ended
             where r.cancelled_by is not null
             order by ended.at desc limit 1
         ) stop
         where coalesce(history.last_started_at <= stop.ended_at, true)
           and not exists (select from issue_waits lineage
                           cross join unnest(lineage.lineage) root (id)
                           cross join lateral (
                               select h.released_at from public.issue_tree_holds h
                               where h.company_id = i.company_id and h.root_issue_id = root.id and h.status = 'released' limit 100) h
                           where lineage.issue_id = i.id and h.released_at > stop.at)
           and not exists (select from public.issue_comments m
                           where m.company_id = i.company_id and m.issue_id = i.id and m.created_at > stop.at
                             and m.author_type = 'user' and m.created_by_run_id is null and m.deleted_at is null)
           and not exists (select from answers a
                           where a.company_id = i.company_id and a.issue_key = i.id::text and a.created_at > stop.at)
           and not exists (select from public.agent_wakeup_requests w
                           where w.company_id = i.company_id and w.payload ->> 'issueId' = i.id::text and not is_too_large(w.payload)
                             and w.requested_by_actor_type = 'user' and w.created_at > stop.at)),
        (select g.reason from issue_gates g where g.issue_id = i.id)
    ) as declared_wait,
    coalesce(
        (select 'it is ' || e.reason from issue_exclusions e where e.issue_id = i.id),
        case when c.status <> 'active' then 'its company is ' || left(c.status, 1000)
             -- A run or wake that is too large to read may be this issue's. A query of many issues reads too_large once, since an agent may have as
             -- many runs as issues; a sweep that takes one issue (take_issue) reads it for one agent only.
             when case when current_setting('sweep.facts_of', true) = 'one'
                       then exists (select from too_large t where t.company_id = i.company_id and t.agent_id = i.assignee_agent_id)
                       else (i.company_id, i.assignee_agent_id) in (select t.company_id, t.agent_id from too_large t) end
             then 'a run or a wake of its agent is too large to look at'
             when (select w.is_too_deep from issue_waits w where w.issue_id = i.id)
             then 'it has more than 100 ancestors, and any of them may be on hold'
             when a.company_id <> i.company_id then 'its agent belongs to another company'
             when (select r.user_id from issue_responsibles r where r.issue_id = i.id) is null then 'no user is responsible for it' end
    ) as obstacle,
    history.last_run_id,
    within_calendar(history.last_ended_at) as last_run_ended_at,
    ended.words as last_run_end,
    ended.error as last_run_error,
    history.last_run_agent_id,
    case when holder.id is not null then 'run ' || left(holder.id::text, 8) || ' has ended and still holds it'
         when history.leased_until > statement_timestamp()
              -- The server may still try to release it, in vain.
              or history.leasing_run_id is not null and history.last_ended_at > statement_timestamp() - interval '2 minutes'
         then 'its environment is not released yet'
         when finalization.since between statement_timestamp() - interval '1 hour' and statement_timestamp() then 'its run is being finalized' end as host_plan,
    case when history.leasing_run_id is not null
         then 'the environment of one of its runs was never released, and its host would cancel every wake'
         when held.actions is not null then 'its host forbids to start it until a person says what became of its last run'
         when finalization.since is not null then 'its host does not come to an end with one of its runs' end as unreachable,
    case when i.status = 'todo' then unstarted_reason(i.id) end as unstarted,
    -- The server's clock dates the end of the run that much too early.
    behavior.run_end_grace_seconds + clock.behind_seconds as run_end_grace_seconds,
    case when unreleased.runs is not null
         then 'have those who run the server release the environment of run ' || left(unreleased.runs[1]::text, 8) || ' (sweep attention has the statement), and then '
              || case when held.actions is null then 'write a comment' else 'see what is advised then' end
              || '; or go on in a new issue. Until it is released, no comment, other assignee or status starts anything'
         when held.actions is not null and held.agent_id is null
         then 'go on in a new issue: the server names no run of which somebody could say what became of it. No comment, other assignee or status '
              || 'starts anything'
         when held.actions is not null and held.agent_id is distinct from i.assignee_agent_id
         then 'assign it to the agent of that run again, and see what is advised then. '
              || 'No comment, other assignee or status starts anything'
         when held.actions is not null
         then 'have sweep wake ' || case when i.identifier ~ '^[A-Za-z0-9_-]{1,100}$' then i.identifier else i.id::text end || ' tell the server that the process of that run has ended '
              || 'and that its last action was not performed. No comment, other assignee or status starts anything'
         else behavior.resume_advice end as resume_advice,
    case when unreleased.runs is not null or held.actions is not null
         then resume_commands_of(i.company_id, i.id, unreleased.runs, held.agent_id = i.assignee_agent_id) end as resume_commands,
    within_calendar(greatest(i.updated_at, history.last_sign_at)) as idle_since,
    episode.began_at as episode_began_at,
    continuations.since_episode - unserved.since_episode as attempts,
    unserved.since_episode as attempts_unserved,
    continuations.last_day as attempts_last_day,
    continuations.last_at as last_attempt_at,
    within_calendar(history.last_continuation_ended_at) as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.since >= episode.began_at, false) as escalated,
    escalations.last_day as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from public.issues i
join public.companies c on c.id = i.company_id
-- One pass over the issue's latest thousand runs, which tell enough: where the index on the issue is missing, a pass is expensive.
left join lateral (
    select (array_agg(r.id order by r.created_at desc, r.id))[1] as last_run_id,
           (array_agg(r.agent_id order by r.created_at desc, r.id))[1] as last_run_agent_id,
           max(r.last_sign_at) as last_sign_at,
           max(r.finished_at) filter (where not r.live) as last_ended_at,
           max(r.started_at) as last_started_at,
           max(r.finished_at) filter (where r.retry_reason = 'issue_continuation_needed') as last_continuation_ended_at,
           -- Until when the server may release the environment that a run holds: it goes on trying for a while. While a run
           -- that did not succeed holds one, a conversation does not go on: the server would cancel every queued run.
           max(least(within_calendar(greatest(r.finished_at, lease.updated_at)) + lease.patience,
                     within_calendar(r.finished_at) + interval '1 hour'))
               filter (where lease.updated_at is not null) as leased_until,
           (array_agg(r.id order by r.created_at desc, r.id)
               filter (where lease.updated_at is not null and r.status <> 'succeeded' and is_conversation(r.id)))[1] as leasing_run_id,
           -- A retry, sweep's or the host's, begins no episode: decisions.md#a-retry-belongs-to-its-episode
           max(r.created_at) filter (where r.retry_reason is null) as began_at,
           -- The continuations that the host queued itself; the ledger counts sweep's own.
           array_agg(r.created_at) filter (
               where r.retry_reason = 'issue_continuation_needed'
                 and (r.status <> 'cancelled' or r.started_at is not null)
                 and not exists (select from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.wake_id = r.wake_id)
           ) as continued_at
    from (select * from runs r where r.company_id = i.company_id and r.issue_key = i.id::text
          order by r.created_at desc, r.id limit 1000) r
    left join lateral (
        select l.updated_at,
               case when l.status = 'pending_cleanup' then interval '30 minutes' else interval '2 minutes' end as patience
        from public.environment_leases l
        where l.heartbeat_run_id = r.id and l.company_id = r.company_id
          and (l.released_at is null or l.status = 'pending_cleanup' or l.cleanup_status = 'failed')
        order by l.updated_at desc limit 1
    ) lease on not r.live
) history on true
cross join host_behavior behavior
cross join lateral (
    select coalesce((select c.behind_seconds from agent_clocks c where c.agent_id = i.assignee_agent_id), 0) as behind_seconds
) clock
-- The recoveries that forbid to start the issue, with their runs, and the runs whose environments have to be released first.
left join lateral (
    select array_agg(a.id) as actions, array_agg(r.id) as runs,
           (array_agg(r.agent_id order by a.created_at desc) filter (where r.id is not null))[1] as agent_id
    from held_actions a left join public.heartbeat_runs r on r.id = as_id(a.run_key) and r.company_id = a.company_id
    where a.company_id = i.company_id and a.issue_id = i.id
) held on true
left join lateral (
    select array_agg(distinct run.id) as runs
    from (select history.leasing_run_id as id union select unnest(held.runs)) run
    join public.environment_leases l on l.heartbeat_run_id = run.id and l.company_id = i.company_id
    where run.id = history.leasing_run_id or l.released_at is null
) unreleased on true
left join lateral (select max(f.since) as since from (select open_finalization_since(i.company_id, i.id) as since) f) finalization on true
left join lateral (
    select r.error,
           'run ' || left(r.id::text, 8) || ' ' || replace(r.status, '_', ' ') || coalesce(' by ' || r.cancelled_by, ' (' || r.error_code || ')', '') as words
    from runs r where r.company_id = i.company_id and r.issue_key = i.id::text and not r.live
    order by r.created_at desc, r.id limit 1
) ended on true
left join lateral (
    select min(w.created_at) as created_at, (array_agg(w.detail order by w.created_at))[1] as detail
    from pending_wakes w where w.company_id = i.company_id and w.issue_key = i.id::text
      and not (w.status = 'deferred_issue_execution' and i.status = 'todo')  -- such a wake starts nothing: unstarted_issues
) pending on true
-- A run that ended within two minutes and still holds the issue, which a living server releases when it has queued all that follows.
left join lateral (
    select (array_agg(r.id))[1] as id from public.heartbeat_runs r
    where r.company_id = i.company_id and r.id in (i.execution_run_id, i.checkout_run_id) and r.status not in ('queued', 'scheduled_retry', 'running')
      and r.finished_at between statement_timestamp() - interval '2 minutes' and statement_timestamp()
) holder on true
left join public.agents a on a.id = i.assignee_agent_id
-- An aggregate, which PostgreSQL looks up for each issue: where the last `analyze` saw no open row, a join would compare all with all.
left join lateral (
    select (array_agg(o.id))[1] as id, max(o.action) as action, bool_or(o.blocked_subject) as blocked_subject, max(o.since) as since
    from open_recoveries o where o.kind = 'issue' and o.subject_id = i.id and not (o.blocked_subject and i.status = 'blocked')
) o on true
left join lateral (
    -- An escalation in the future is a clock's mistake and began no episode: decisions.md#times-in-the-future
    select max(e.created_at) filter (where e.created_at <= statement_timestamp()) as last_at,
           count(*) filter (where e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day
    from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
) escalations on true
cross join lateral (
    select within_calendar(greatest(coalesce(i.started_at, i.created_at), history.began_at, escalations.last_at)) as began_at
) episode
-- Every continuation counts as an attempt, sweep's and the host's alike; the ledger's number outlives runs that the host prunes.
left join lateral (
    select greatest(count(*) filter (where k.created_at >= episode.began_at),
                    max(k.attempt) filter (where k.created_at >= episode.began_at)) as since_episode,
           count(*) filter (where k.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day,
           within_calendar(max(k.created_at)) as last_at
    from (select r.created_at, r.attempt from recoveries r where r.kind = 'issue' and r.subject_id = i.id and r.action = 'continue'
          union all
          select unnest(history.continued_at), null) k
) continuations on true
left join lateral (
    select count(*) as since_episode from unserved_continuations c
    where c.kind = 'issue' and c.subject_id = i.id and c.created_at >= episode.began_at
) unserved on true;
