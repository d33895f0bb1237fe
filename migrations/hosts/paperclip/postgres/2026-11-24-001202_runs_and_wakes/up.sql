-- Paperclip's runs and wakes, and how sweep queues a wake. Runs and wakes name their issue in JSON, which may hold anything:
-- the name is compared as text, never cast. The host's indexes on it begin with the company.

-- The views go through companies and agents because the only indexes on a status begin with these columns: so PostgreSQL finds the
-- few live rows without reading all finished ones. No row is lost, since the host files a wake under its agent's company.
create view runs as
select r.id, r.company_id, r.context_snapshot ->> 'issueId' as issue_key, r.agent_id, r.wakeup_request_id as wake_id,
       r.responsible_user_id, r.status, left(r.error_code, 100) as error_code, left(r.error, 500) as error, r.created_at, r.started_at, r.finished_at,
       coalesce(r.finished_at, greatest(r.created_at, r.started_at)) as last_sign_at,
       r.context_snapshot ->> 'retryReason' as retry_reason,
       r.status in ('queued', 'scheduled_retry', 'running') as live,
       -- The person who stopped the run, by the server's own marks, which a result that is too large to read may hold.
       case when r.status <> 'cancelled' then null
            when is_too_large(r.result_json) then 'somebody (what became of it is too large to look at)'
            when r.result_json ->> 'cancelledByActorType' in ('user', 'board')
            then coalesce('user ' || left(r.result_json ->> 'cancelledByUserId', 200), 'a person')
            when r.error_code = 'operator_interrupted'
            then coalesce('user ' || left(r.result_json ->> 'interruptedByActorId', 200), 'a person')
            when r.error_code in ('slack_session_stopped', 'chat_control_completed_source') then 'a person, in a chat' end as cancelled_by
from public.companies c
join public.heartbeat_runs r on r.company_id = c.id
where not is_too_large(r.context_snapshot);

-- The wakes that are pending. A claimed wake whose run has ended, as after a crash of the server, is not. Nobody will take up the wake of a
-- terminated agent: it is pending only while its run is live.
create view pending_wakes as
select w.id, w.company_id, w.payload ->> 'issueId' as issue_key, w.status, within_calendar(w.created_at) as created_at,
       'wake ' || left(w.id::text, 8) || ' (' || w.status || ', by ' || coalesce(left(w.requested_by_actor_id, 100), 'nobody') || ')'
           || coalesce(', its run ' || left(r.id::text, 8) || ' is ' || r.status, ', no run yet') as detail
from public.agents a
join public.agent_wakeup_requests w on w.company_id = a.company_id and w.agent_id = a.id
left join public.heartbeat_runs r on r.id = w.run_id and r.company_id = w.company_id
where w.status in ('queued', 'deferred_issue_execution', 'claimed') and not is_too_large(w.payload)
  and coalesce(r.status in ('queued', 'scheduled_retry', 'running'), a.status <> 'terminated');

-- Wakes that nobody has taken up: no run of theirs has begun. A deferred wake is none while another run of its issue is live, nor where
-- it leaves its issue unstarted (unstarted_issues).
create view untaken_wakes as
select w.id,
       case when i.id is not null then 'issue' end as kind,
       i.id as subject_id,
       w.company_id::text as tenant,
       left(i.identifier, 1000) as identifier,
       left(i.title, 1000) as title,
       w.agent_id,
       left(a.name, 1000) as agent_name,
       left(a.status, 1000) as agent_status,
       within_calendar(w.created_at) as created_at
from public.agents a
join public.agent_wakeup_requests w on w.company_id = a.company_id and w.agent_id = a.id
left join public.heartbeat_runs r on r.id = w.run_id and r.company_id = w.company_id
cross join lateral (select case when not is_too_large(w.payload) then w.payload ->> 'issueId' end as issue_key) named
left join public.issues i on i.id = as_id(named.issue_key) and i.company_id = w.company_id
where w.status in ('queued', 'deferred_issue_execution', 'claimed') and coalesce(r.status = 'queued', true)
  and not (w.status = 'deferred_issue_execution' and i.status = 'todo')
  and not (w.status = 'deferred_issue_execution'
           and exists (select from runs l where l.live and l.company_id = w.company_id and l.issue_key = named.issue_key));

-- The times at which wakes were taken up: the beginnings of their runs. The host's index on runs begins with the agent.
create view wake_pickups as
select r.wakeup_request_id as wake_id, r.started_at as taken_at
from public.agents a join public.heartbeat_runs r on r.company_id = a.company_id and r.agent_id = a.id
where r.started_at is not null and r.wakeup_request_id is not null;

-- sweep's wakes whose run was cancelled before it began: none of them is an attempt.
create view unserved_continuations as
select c.kind, c.subject_id, c.created_at
from recoveries c
join public.agent_wakeup_requests w on w.id = c.wake_id
join public.heartbeat_runs r on r.id = w.run_id and r.company_id = w.company_id
where c.action = 'continue' and r.status = 'cancelled' and r.started_at is null;

-- Since when the server has been finalizing a run of the issue, in steps of its own; null if it is not. What it writes there hours
-- after the run's end does not count. Earlier releases lack the table, and a relation of that name that others created in `public` must
-- not be read: its code would run with the rights of this function's owner.
create function open_finalization_since(company uuid, issue uuid) returns timestamptz language plpgsql stable security definer
set search_path = sweep, pg_temp as $$
begin
    if not exists (
        select from pg_class c join pg_roles r on r.oid = c.relowner
        where c.oid = to_regclass('public.native_run_finalizations') and c.relkind in ('r', 'p')
          and (r.rolsuper or c.relowner = (select relowner from pg_class where oid = 'public.issues'::regclass))
    ) then
        return null;
    end if;
    return (
        select max(least(f.updated_at, within_calendar(coalesce(r.finished_at, r.created_at)) + interval '3 hours'))
        from (select r.id, r.created_at, r.finished_at from runs r where r.company_id = company and r.issue_key = issue::text
              order by r.created_at desc, r.id limit 1000) r
        join public.native_run_finalizations f on f.run_id = r.id
        -- Reads columns by name, since earlier releases lack some of them.
        cross join lateral (select case when is_too_large(f.failure_detail) then '{}' else to_jsonb(f) end as row) named
        where f.company_id = company
          and (f.lease_owner is not null or named.row ->> 'control_deadline_at' is not null
               or named.row ->> 'recovery_state' in ('awaiting_evidence', 'awaiting_runner_reattach', 'resuming_session', 'bootstrap_incomplete')
               or f.phase = 'retryable_failure' and f.result_id is null)
    );
end $$;

-- True if a run was started for a conversation. Reads columns by name, since earlier releases lack them.
create function is_conversation(run uuid) returns boolean language plpgsql stable security definer set search_path = sweep, pg_temp as $$
declare
    adapter text;
begin
    if has_column('public.heartbeat_runs', 'runner_profile_json') then
        select case when r.runtime_mode = 'legacy' then coalesce(
                   case when not is_too_large(r.runner_profile_json) then r.runner_profile_json #>> '{adapterDispatch,adapterType}' end,
                   a.adapter_type) end
        into adapter from public.heartbeat_runs r left join public.agents a on a.id = r.agent_id where r.id = run;
    else
        select a.adapter_type into adapter from public.heartbeat_runs r join public.agents a on a.id = r.agent_id where r.id = run;
    end if;
    return coalesce(adapter in ('claude_local', 'codex_local', 'cursor', 'gemini_local', 'opencode_local', 'pi_local', 'grok_local',
                                'kimi_local', 'hermes_local'), false);
end $$;
revoke execute on function open_finalization_since, is_conversation from public;
comment on function open_finalization_since is 'called by views';
comment on function is_conversation is 'called by views';

-- The user whom the server would hold responsible for a run of an issue; null: there is none.
create view issue_responsibles as
select i.id as issue_id,
       coalesce(nullif((select r.responsible_user_id from runs r where r.company_id = i.company_id and r.issue_key = i.id::text
                        order by r.created_at desc, r.id limit 1), ''),
                nullif(i.responsible_user_id, ''), nullif(p.responsible_user_id, ''), nullif(c.default_responsible_user_id, '')) as user_id
from public.issues i
join public.companies c on c.id = i.company_id
left join public.issues p on p.id = i.parent_id and p.company_id = i.company_id;

create view wakes as
select w.id, w.agent_id, i.id as issue_id, w.reason, w.payload, w.requested_by_actor_id as requested_by, w.status, w.created_at
from public.agent_wakeup_requests w
left join public.issues i on i.company_id = w.company_id and i.id::text = w.payload ->> 'issueId';

-- Queues a wake with its run: the server executes queued runs only, and a wake without one would stay queued for ever.
create function insert_wake() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
declare
    issue record;
    next_run_id uuid := gen_random_uuid();
    -- The agent's latest run of this issue, whose session the new run takes up again.
    resumed_run_id uuid := (
        select r.id from public.issues i join runs r on r.company_id = i.company_id and r.issue_key = i.id::text
        where i.id = new.issue_id and r.agent_id = new.agent_id
        order by r.created_at desc, r.id limit 1
    );
begin
    select i.company_id, i.project_id, r.user_id into issue
    from public.issues i join issue_responsibles r on r.issue_id = i.id
    where i.id = new.issue_id;
    -- At a queued run without a responsible user the server fails at every tick, and recovers nothing else either.
    if issue.user_id is null then
        raise exception 'issue % cannot be woken: no user is responsible for it', new.issue_id;
    end if;

    new.id := coalesce(new.id, gen_random_uuid());
    -- Without the id of an actor the run would stay queued for ever.
    insert into public.agent_wakeup_requests
        (id, company_id, agent_id, source, trigger_detail, reason, payload,
         requested_by_actor_type, requested_by_actor_id, idempotency_key)
    values (new.id, issue.company_id, new.agent_id, 'automation', 'system', new.reason,
            jsonb_strip_nulls(coalesce(new.payload, '{}')
                || jsonb_build_object('issueId', new.issue_id, 'retryOfRunId', resumed_run_id)),
            'system', coalesce(new.requested_by, 'sweep'), 'sweep:' || new.id);
    insert into public.heartbeat_runs
        (id, company_id, agent_id, invocation_source, trigger_detail, wakeup_request_id, retry_of_run_id,
         responsible_user_id, context_snapshot)
    values (next_run_id, issue.company_id, new.agent_id, 'automation', 'system', new.id, resumed_run_id,
            issue.user_id,
            jsonb_strip_nulls(jsonb_build_object(
                'issueId', new.issue_id, 'taskId', new.issue_id, 'taskKey', new.issue_id,
                -- The server charges the budget of this project.
                'projectId', issue.project_id,
                'wakeReason', new.reason, 'retryReason', new.reason, 'retryOfRunId', resumed_run_id,
                'wakeSource', 'automation', 'wakeTriggerDetail', 'system', 'source', 'issue.continuation_recovery')));
    update public.agent_wakeup_requests set run_id = next_run_id where id = new.id;
    return new;
-- The detail of this error would show the host's whole row to a role that may not read it.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger insert_wake instead of insert on wakes for each row execute function insert_wake();
revoke execute on function insert_wake from public;

-- Continuations that were not needed: a run that had begun before the wake, and was not started by it, reported within a day, so
-- its owner was alive. Success and output are reports; others too fail, time out, interrupt or cancel a run.
create view false_rescues as
select c.id as recovery_id, c.subject_id, c.kind, c.created_at as continued_at, within_calendar(report.at) as reported_at
from recoveries c
join public.issues i on i.id = c.subject_id
cross join lateral (
    select min(signs.at) as at
    -- The latest hundred earlier runs tell enough: all of them for each continuation would cost the product of both numbers.
    from (select * from public.heartbeat_runs r
          where r.company_id = i.company_id and r.context_snapshot ->> 'issueId' = i.id::text and r.created_at < c.created_at
          order by r.created_at desc limit 100) r
    cross join lateral (values (r.last_output_at), (case r.status when 'succeeded' then r.finished_at end)) signs (at)
    where not is_too_large(r.context_snapshot) and c.created_at < signs.at and r.wakeup_request_id is distinct from c.wake_id
) report
where c.kind = 'issue' and c.action = 'continue' and report.at <= c.created_at + interval '24 hours';
