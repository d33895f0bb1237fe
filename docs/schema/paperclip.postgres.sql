-- hosts/paperclip/postgres/2026-11-24-001201_relations
-- Paperclip's agents, issues, comments and runs under the names by which sweep locks and writes them. The triggers sit on these views,
-- never on a host's table. Views and triggers run with their owner's rights: the role of a sweep needs no right on the host's tables.

-- Brings times into years that clients can decode: PostgreSQL has infinity, too. Both ends keep their meaning: long ago, and not yet.
create function within_calendar(moment timestamptz) returns timestamptz language sql immutable
return case when moment < timestamptz '0001-01-01 00:00Z' then timestamptz '0001-01-01 00:00Z'
            when moment > timestamptz '9999-12-31 00:00Z' then timestamptz '9999-12-31 00:00Z'
            else moment end;

-- Casts an id from JSON, if it is written as PostgreSQL prints it, so that the key's index serves. Null for any other text.
create function as_id(words text) returns uuid language sql immutable
return case when words ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then words::uuid end;

-- True if a document is not to be read. To read a part of it, PostgreSQL unpacks the whole, to a hundred times this size: too much
-- to do for every live run and wake of every company within one statement's time.
create function is_too_large(document jsonb) returns boolean language sql stable
return coalesce(pg_column_size(document) > 100000, false);

-- True if a table has a column that older releases lack. A function plans a statement only when it is reached, so one may name the column.
create function has_column(host_table text, column_name text) returns boolean language sql stable
return exists (select from pg_attribute where attrelid = to_regclass(host_table) and attname = column_name and not attisdropped);

comment on function within_calendar is 'called by views';
comment on function as_id is 'called by views';
comment on function is_too_large is 'called by views';

-- The constants of this host: one row. A few seconds after the end of a run the server queues what follows, and does not look whether
-- somebody else has queued something.
create view host_behavior as
select 15::float8 as run_end_grace_seconds,           -- how long the host has to say what follows the end of a run
       'write a comment, assign somebody else or set it to todo: its agent goes on within seconds. Setting it to in progress wakes nobody'
           as resume_advice;

create view agents as
select id, company_id, name, status from public.agents;

-- The least lag of the server's clock behind the database's, seen in each agent's latest runs of a day: the database dates the creation of
-- a run, the server its beginning, which is later. Rows in the future do not count, and ten minutes is the most.
create view agent_clocks as
select a.id as agent_id,
       least(greatest(extract(epoch from max(latest.created_at - within_calendar(latest.started_at))), 0), 600)::float8 as behind_seconds
from public.agents a
left join lateral (
    select r.created_at, r.started_at from public.heartbeat_runs r
    where r.company_id = a.company_id and r.agent_id = a.id and r.started_at is not null
    order by r.started_at desc limit 5
) latest on latest.created_at between statement_timestamp() - interval '1 day' and statement_timestamp()
group by a.id;

-- The lag of the server's clock, seen in the runs of the agents that worked last.
create view host_clock as
select coalesce(max(c.behind_seconds), 0) as behind_seconds
from (select id from public.agents where last_heartbeat_at is not null order by last_heartbeat_at desc limit 100) a
join agent_clocks c on c.agent_id = a.id;

-- Paperclip's issues. The column unblock_action is only written, by the trigger below.
create view issues as
select id, company_id, company_id::text as tenant, identifier, title, status, assignee_agent_id, null::text as unblock_action, updated_at
from public.issues;

-- The issues that sweep does not resume, and where a comment would reach nobody, each with the reason.
create view issue_exclusions as
select i.id as issue_id,
       case when i.hidden_at is not null or i.harness_kind is not null then 'hidden'
            -- The next branch reads all texts of the issue, in each sweep.
            when octet_length(i.title) + coalesce(octet_length(i.description), 0) > 10000000 then 'too large to look at'
            -- Reads the column by name, since older releases lack it. Only messages move a conversation, which is never finished.
            when to_jsonb(i) ->> 'conversation_agent_id' is not null then 'a conversation' end as reason
from public.issues i;

create function update_issue() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update public.issues set status = new.status, updated_at = new.updated_at where id = old.id and status = old.status;
    if not found then
        return null;
    end if;
    -- The server would take up again, or never release, a blocked issue that a run still holds.
    if new.status = 'blocked' then
        update public.issues
        set checkout_run_id = null, execution_run_id = null, execution_agent_name_key = null, execution_locked_at = null
        where id = old.id;
        -- With the descriptor and the time, the board's inbox says what a person has to do. Releases before 2026.817 have neither.
        if has_column('public.issues', 'unblock_descriptor') then
            update public.issues
            set blocked_transition_at = clock_timestamp(),
                unblock_descriptor = case when btrim(new.unblock_action) <> ''
                    then jsonb_build_object('owner', 'board', 'action', left(btrim(new.unblock_action), 2000)) end
            where id = old.id;
        end if;
    end if;
    return new;
-- The detail of this error would show the host's whole row to a role that may not read it.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger update_issue instead of update on issues for each row execute function update_issue();

create view comments as
select id, issue_id, coalesce(author_agent_id::text, author_user_id, author_type) as author, body, created_at
from public.issue_comments;

create function insert_comment() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    -- The presentation of the server's own notices. The server reads no comment whose presentation has a key that it does not know.
    insert into public.issue_comments (id, company_id, issue_id, author_type, body, presentation)
    select coalesce(new.id, gen_random_uuid()), i.company_id, i.id, 'system', new.body,
           '{"kind": "system_notice", "tone": "danger", "title": "sweep: this needs a person", "detailsDefaultOpen": false}'
    from public.issues i where i.id = new.issue_id;
    return case when found then new end;
end $$;
create trigger insert_comment instead of insert on comments for each row execute function insert_comment();

-- Paperclip's running runs as sessions. The server drives the process, so the session takes no commands, and a sweep can only tell
-- people that it fell silent. Queued and scheduled runs have no process yet.
-- The view joins no other table, so that a lock of a session locks its run and nothing else. Everything that the server writes about a run
-- is a sign of life.
create view sessions as
select r.id, r.company_id, r.agent_id,
       (select i.id from public.issues i where i.id = as_id(r.context_snapshot ->> 'issueId') and i.company_id = r.company_id) as issue_id,
       r.status as run_status,
       case r.status when 'running' then 'active' when 'active' then 'unknown' else r.status end as status,
       within_calendar(greatest(r.created_at, r.started_at, r.last_output_at, r.updated_at)) as last_sign_at
from public.heartbeat_runs r;

-- Refuses every update of a session: sweep has the right only to lock the row, and the run belongs to its server.
create function refuse_update() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    raise exception 'run % is its server''s: sweep only locks it', old.id;
end $$;
create trigger refuse_update instead of update on sessions for each row execute function refuse_update();

-- Copies each row of the ledger into the host's activity log, where a session is a run. decisions.md#the-activity-log
create function log_recovery() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    insert into public.activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id, details)
    select subject.company_id, 'system', 'sweep', new.kind || '.' || new.action, subject.entity_type, new.subject_id::text,
           jsonb_build_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id) || subject.details
    from (
        select i.company_id, 'issue' as entity_type, '{}'::jsonb as details
        from public.issues i where new.kind = 'issue' and i.id = new.subject_id
        union all
        select s.company_id, 'heartbeat_run', jsonb_build_object('issueId', s.issue_id)
        from sessions s where new.kind = 'session' and s.id = new.subject_id
    ) subject;
    return null;
end $$;
create trigger log_recovery after insert on recoveries for each row execute function log_recovery();

-- Without this, anybody could put a trigger function on a table of their own, and write to the host with its owner's rights.
revoke execute on function within_calendar, as_id, is_too_large, has_column, update_issue, insert_comment, refuse_update, log_recovery from public;

-- hosts/paperclip/postgres/2026-11-24-001202_runs_and_wakes
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

-- hosts/paperclip/postgres/2026-11-24-001203_issue_waits
-- The waits of issues: those that an issue declares, those for which the server would refuse to start it, and the answers that end them.

-- The changes of an issue by a person that are an answer, beside comments, wakes and released holds. To read an issue, or to tidy an inbox,
-- is no answer.
create view answers as
select l.company_id, l.entity_id as issue_key, l.created_at
from public.activity_log l
where l.entity_type = 'issue' and l.actor_type = 'user'
  and l.action in ('issue.updated', 'issue.checked_out', 'issue.released', 'issue.admin_force_release',
                   'issue.recovery_action_resolved', 'issue.scheduled_retry_retry_now');

-- Reads a limit from an agent's configuration as the server does: a value that is no number, or too large a number, is 0, and a negative
-- number is no limit.
create function as_limit(value jsonb) returns numeric language sql immutable
return case when jsonb_typeof(value) = 'number' and value::numeric < 1e308 then case when value::numeric >= 0 then floor(value::numeric) end
            when value not in ('null', '""') then 0 end;
comment on function as_limit is 'called by views';

-- The agents of a company whose line of managers ends at one who reports to nobody, and has no terminated manager. Agents below a missing
-- manager, or in a circle, are not among them.
create function sound_agents(company uuid) returns setof uuid language sql stable security definer set search_path = sweep, pg_temp as $$
    with recursive sound as (
        select a.id, a.status from public.agents a where a.company_id = company and a.reports_to is null
        union all
        select a.id, a.status from sound m join public.agents a on a.company_id = company and a.reports_to = m.id
        where m.status <> 'terminated'
    )
    select id from sound
$$;
comment on function sound_agents is 'called by views';
revoke execute on function as_limit, sound_agents from public;

-- The reason for which the server would not start a run of an agent that may be woken: it would cancel sweep's run and block the issue, or
-- start what it should not. Each gate ends with time, or when a person changes it.
create view agent_gates as
select a.id as agent_id, coalesce(
    case when is_too_large(a.runtime_config) then 'the configuration of its agent is too large to look at'
         when config.on_demand = 'false' then case when config.timer = 'true' then 'its agent is woken by its timer alone'
                                                   else 'its agent is woken neither on demand nor by a timer' end
         when config.runs = 0 then 'its agent may have no runs'
         when config.cents = 0 then 'its agent may spend nothing'
         -- Runs are counted only if there is a limit.
         when config.runs is not null and config.runs <= (select count(*) from (
                  select from public.heartbeat_runs r
                  where r.company_id = a.company_id and r.agent_id = a.id and r.status not in ('queued', 'scheduled_retry')
                    and r.started_at >= today.began_at and r.started_at < today.began_at + interval '1 day'
                  limit least(config.runs, 1000000)::bigint) run)
         then 'its agent has used up its ' || config.runs || ' runs of the day, which ends at 00:00 UTC'
         when config.cents is not null and config.cents <= (select coalesce(sum(e.cost_cents), 0) from public.cost_events e
                               where e.company_id = a.company_id and e.agent_id = a.id
                                 and e.occurred_at >= today.began_at and e.occurred_at < today.began_at + interval '1 day')
         then 'its agent has used up its budget of the day, which ends at 00:00 UTC'
         -- A sweep that takes one issue reads the managers of one company only.
         when a.reports_to is not null
              and case when current_setting('sweep.facts_of', true) = 'one' then a.id not in (select sound_agents(a.company_id))
                       else a.id not in (select sound_agents(c.id) from public.companies c) end
         then 'a manager of its agent is terminated or missing, or is below it' end
) as reason
from public.agents a
-- `offset 0` has a large configuration unpacked once.
cross join lateral (
    select h.heartbeat -> 'enabled' as timer,
           coalesce(nullif(h.heartbeat -> 'wakeOnDemand', 'null'), nullif(h.heartbeat -> 'wakeOnAssignment', 'null'),
                    nullif(h.heartbeat -> 'wakeOnOnDemand', 'null'), nullif(h.heartbeat -> 'wakeOnAutomation', 'null')) as on_demand,
           as_limit(coalesce(nullif(h.heartbeat -> 'maxDailyRuns', 'null'), nullif(h.heartbeat -> 'dailyRunLimit', 'null'),
                             nullif(h.heartbeat -> 'dailyRunCap', 'null'), h.heartbeat -> 'maxRunsPerDay')) as runs,
           as_limit(coalesce(nullif(h.heartbeat -> 'maxDailyCostCents', 'null'), nullif(h.heartbeat -> 'dailyCostCentsLimit', 'null'),
                             nullif(h.heartbeat -> 'dailySpendCentsLimit', 'null'), h.heartbeat -> 'dailyBudgetCents')) as cents
    from (select case when not is_too_large(a.runtime_config) then a.runtime_config -> 'heartbeat' end as heartbeat offset 0) h
    offset 0
) config
cross join lateral (select date_trunc('day', statement_timestamp(), 'UTC') as began_at) today;

-- The gates of all agents, by the agent's id: a query of many issues reads them once.
create function gates_by_agent() returns jsonb language sql stable security definer set search_path = sweep, pg_temp
return (select jsonb_object_agg(g.agent_id, g.reason) from agent_gates g where g.reason is not null);
comment on function gates_by_agent is 'called by views';
revoke execute on function gates_by_agent from public;

-- The gate of an issue: its project's, or its agent's. A sweep that takes one issue reads the gate of one agent only.
create view issue_gates as
select i.id as issue_id, coalesce(
    (select 'its project is stopped by its budget: ' || left(p.name, 1000) from public.projects p
     where p.id = i.project_id and p.company_id = i.company_id and p.paused_at is not null and p.pause_reason = 'budget'),
    case when current_setting('sweep.facts_of', true) = 'one'
         then (select g.reason from agent_gates g where g.agent_id = i.assignee_agent_id)
         else (select gates_by_agent()) ->> i.assignee_agent_id::text end
) as reason
from public.issues i;

-- The first reason for which an issue waits, whatever its status says, and whether it has more ancestors than are searched for a hold.
create view issue_waits as
select i.id as issue_id, coalesce(
    (select 'blocked by ' || left(coalesce(b.identifier, b.title), 1000)
     from public.issue_relations l join public.issues b on b.id = l.issue_id and b.company_id = i.company_id
     where l.company_id = i.company_id and l.related_issue_id = i.id and l.type = 'blocks'
       and b.status not in ('done', 'cancelled')
     order by b.created_at, b.id limit 1),
    -- Only a question whose answer wakes the agent is a reason to wait.
    (select 'open question' from public.issue_thread_interactions q
     where q.company_id = i.company_id and q.issue_id = i.id and q.status = 'pending'
       and q.continuation_policy in ('wake_assignee', 'wake_assignee_on_accept') limit 1),
    (select 'open approval' from public.issue_approvals l join public.approvals a on a.id = l.approval_id
     where l.company_id = i.company_id and a.company_id = i.company_id and l.issue_id = i.id
       and a.status in ('pending', 'revision_requested') limit 1),
    (select 'the host''s own recovery is active' from public.issue_recovery_actions r
     where r.company_id = i.company_id and r.source_issue_id = i.id and r.status in ('active', 'escalated') limit 1),
    case when i.monitor_next_check_at > statement_timestamp()
         then 'monitor check at '
              || to_char(within_calendar(i.monitor_next_check_at) at time zone 'UTC', 'YYYY-MM-DD HH24:MI UTC') end,
    -- A hundred holds of an ancestor are read, since many issues below it ask.
    (select case when held.is_paused then 'paused by a hold on ' else 'more than 100 holds are on ' end
            || left(coalesce(p.identifier, p.title), 1000)
     from public.issues p
     cross join lateral (
         select bool_or(h.mode = 'pause') as is_paused, count(*) > 100 as are_many
         from (select h.mode from public.issue_tree_holds h
               where h.company_id = p.company_id and h.root_issue_id = p.id and h.status = 'active' limit 101) h
     ) held
     where p.id = any (lineage.ids) and p.company_id = i.company_id and (held.is_paused or held.are_many) limit 1)
) as reason, cardinality(lineage.ids) > 100 as is_too_deep, lineage.ids as lineage
from public.issues i
-- An issue inherits the holds of every ancestor. `union` ends a circle of parents, which `union all` would not.
cross join lateral (
    with recursive ancestors as (
        select i.id
        union
        select p.parent_id from ancestors a join public.issues p on p.id = a.id
        where p.parent_id is not null and p.company_id = i.company_id
    )
    select array(select id from ancestors limit 101) as ids
) lineage;

-- The server's own recoveries that have ended, and forbid to start their issue until a person says what became of the run.
create view held_actions as
select r.id, r.company_id, r.source_issue_id as issue_id, r.created_at,
       case when not is_too_large(r.evidence) then coalesce(r.evidence ->> 'runId', r.evidence ->> 'sourceRunId') end as run_key
from public.issue_recovery_actions r
where r.status not in ('active', 'escalated')
  -- A recovery that is too large to read may forbid it.
  and case when is_too_large(r.evidence) then true else r.evidence #>> '{automaticRecovery,replay}' = 'blocked' end;

-- hosts/paperclip/postgres/2026-11-24-001204_unstarted_issues
-- Issues in `todo` with an agent that nothing will start: the server takes up a `todo` only by a wake, and lists none whose wake it did not
-- serve.

-- An issue that a person stopped is that person's. An agent with a timer looks for such work itself, and a resting agent is to have none.
create view unstarted_issues as
select i.id as issue_id, within_calendar(asked.since) as since,
       case latest.unserved
            when 'skipped' then 'its wake was skipped: '
            when 'cancelled' then 'its run was cancelled before it began: '
            else 'its wake is deferred, and no run of it is live: ' end || latest.why as reason
from public.companies c
join public.issues i on i.company_id = c.id
join public.agents a on a.id = i.assignee_agent_id and a.company_id = i.company_id
-- The latest wake of the issue, and whether it came to nothing.
cross join lateral (
    select w.created_at,
           case w.status
                when 'skipped' then 'skipped'
                when 'deferred_issue_execution' then 'deferred'
                when 'cancelled' then (select w.status from runs r where r.id = w.run_id and r.company_id = w.company_id
                                       and r.started_at is null and r.cancelled_by is null) end as unserved,
           left(coalesce(nullif(w.payload #>> '{executionWait,message}', ''), nullif(w.error, ''), w.reason, 'the server says nothing'), 500) as why
    from public.agent_wakeup_requests w
    where w.company_id = i.company_id and w.payload ->> 'issueId' = i.id::text and not is_too_large(w.payload)
    order by w.created_at desc, w.id limit 1
) latest
-- Since when nothing has come of the issue's wakes: a server may write one again and again.
cross join lateral (
    select min(w.created_at) as since from public.agent_wakeup_requests w
    where latest.unserved is not null and w.company_id = i.company_id and w.payload ->> 'issueId' = i.id::text and not is_too_large(w.payload)
      and w.created_at > coalesce((select max(r.created_at) from runs r where r.company_id = i.company_id and r.issue_key = i.id::text
                                   and r.started_at is not null), '-infinity')
) asked
where c.status = 'active' and i.status = 'todo' and i.assignee_user_id is null
  and a.status in ('active', 'idle', 'running', 'error')
  and not is_too_large(a.runtime_config) and (a.runtime_config #> '{heartbeat,enabled}' = 'true') is not true
  -- The server itself starts an issue that it skipped, within some of its ticks.
  and (asked.since < statement_timestamp() - make_interval(secs => coalesce((select orphan_grace_seconds from policy limit 1), 300))
       or asked.since > statement_timestamp() + interval '1 day')
  -- The `case` has these questions asked only about the few issues whose wake came to nothing.
  and case when latest.unserved is not null then
      not exists (select from runs r where r.live and r.company_id = i.company_id and r.issue_key = i.id::text)
      and not exists (select from pending_wakes w
                      where w.company_id = i.company_id and w.issue_key = i.id::text and w.status <> 'deferred_issue_execution')
      and (select e.reason from issue_exclusions e where e.issue_id = i.id) is null
      and (select w.reason from issue_waits w where w.issue_id = i.id) is null
      and (select g.reason from issue_gates g where g.issue_id = i.id) is null end;

-- The reason for which nothing will start an issue. As a function, it is planned only for issues that need it.
create function unstarted_reason(issue uuid) returns text language sql stable security definer set search_path = sweep, pg_temp
return (select u.reason from unstarted_issues u where u.issue_id = issue);
comment on function unstarted_reason is 'called by views';
revoke execute on function unstarted_reason from public;

-- hosts/paperclip/postgres/2026-11-24-001205_issue_facts
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

-- hosts/paperclip/postgres/2026-11-24-001206_left_issues
-- Issues that the server left without telling a person: those that it blocked itself within a day, by its activity log, with no comment,
-- no advice on the board and no answer since; those that it blocked and forbids to start, which no usual answer starts again; and those
-- in `todo` that nothing will start.
create view left_issues as
select i.id as subject_id, i.company_id::text as tenant, left(i.identifier, 1000) as identifier,
       left(i.title, 1000) as title, i.assignee_agent_id as agent_id, left(a.name, 1000) as agent_name,
       i.status, within_calendar(l.created_at) as since,
       'blocked by its host, which told nobody why (' || left(l.action, 100) || ')' as reason
-- For each issue, the latest such entry of the activity log, found before anything else is read about the issue.
from (
    select distinct on (l.company_id, l.entity_id) l.company_id, l.entity_id, l.action, l.created_at
    from public.companies c
    join public.activity_log l on l.company_id = c.id
                              and l.created_at between statement_timestamp() - interval '1 day' and statement_timestamp()
    where l.actor_type = 'system' and l.entity_type = 'issue' and not is_too_large(l.details)
      and (l.action = 'issue.execution_recovery_settled' and l.details ->> 'outcome' = 'blocked'
           or l.action in ('issue.updated', 'issue.successful_run_handoff_escalated', 'issue.disposition_repair_escalated')
              and l.details ->> 'status' = 'blocked'
           or l.action = 'issue.workspace_preflight_blocked')
    order by l.company_id, l.entity_id, l.created_at desc
) l
join public.issues i on i.id = as_id(l.entity_id) and i.company_id = l.company_id
left join public.agents a on a.id = i.assignee_agent_id
where i.status = 'blocked' and i.hidden_at is null
  and not exists (select from held_actions h where h.company_id = i.company_id and h.issue_id = i.id)
  and to_jsonb(i) ->> 'unblock_descriptor' is null  -- by name, since older releases lack the column
  and not exists (select from public.issue_relations b join public.issues blocker on blocker.id = b.issue_id
                  where b.company_id = i.company_id and b.related_issue_id = i.id and b.type = 'blocks'
                    and blocker.status not in ('done', 'cancelled'))
  and not exists (select from public.issue_comments m
                  where m.company_id = i.company_id and m.issue_id = i.id and m.deleted_at is null
                    and m.created_at >= l.created_at - interval '10 seconds')
  and not exists (select from answers a
                  where a.company_id = i.company_id and a.issue_key = i.id::text and a.created_at > l.created_at)
union all
select i.id, i.company_id::text, left(i.identifier, 1000), left(i.title, 1000), i.assignee_agent_id, left(a.name, 1000),
       i.status, within_calendar(h.since), 'blocked by its host, which forbids to start it until a person says what became of its last run'
from public.companies c
join public.issues i on i.company_id = c.id
cross join lateral (select max(h.created_at) as since from held_actions h where h.company_id = i.company_id and h.issue_id = i.id) h
left join public.agents a on a.id = i.assignee_agent_id
where i.status = 'blocked' and h.since is not null and i.assignee_agent_id is not null and i.assignee_user_id is null and i.hidden_at is null
  and (select w.reason from issue_waits w where w.issue_id = i.id) is null
  and not exists (select from recoveries r where r.kind = 'issue' and r.subject_id = i.id and r.settled_at is null and r.blocked_subject)
union all
select i.id, i.company_id::text, left(i.identifier, 1000), left(i.title, 1000), i.assignee_agent_id, left(a.name, 1000),
       i.status, u.since, u.reason
from unstarted_issues u
join public.issues i on i.id = u.issue_id
left join public.agents a on a.id = i.assignee_agent_id;

-- hosts/paperclip/postgres/2026-11-24-001207_session_facts
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

-- board/session/2026-11-24-001401_session_state
-- The facts and exemptions by which sweep decides.
create view session_decided_facts as
select f.*, e.reason as exemption, e.until as exemption_until, ea.reason as agent_exemption, ea.until as agent_exemption_until,
       et.reason as tenant_exemption, et.until as tenant_exemption_until,
       -- The agent of which people were told that it is gone or terminated, by what is open.
       (select r.agent_id from recoveries r where r.id = f.open_recovery_id and r.lost_agent) as lost_agent_id,
       -- take_session fills these in: whether it holds the subject, and the agent and the issue that it holds with it.
       false as held, cast(null as id) as held_agent_id, cast(null as id) as held_issue_id
from session_facts f
left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id
left join agent_exemptions ea on ea.agent_id = f.agent_id
left join tenant_exemptions et on et.tenant = f.tenant;


create view session_outlines with (security_barrier) as
select s.subject_id, s.tenant, f.agent_id, f.agent_status, f.observed_at, f.issue_wake_since, f.pending_command_since, f.ended_at, f.reason
from session_subjects s
cross join lateral (
        select f.agent_id, f.agent_status, f.observed_at, f.issue_wake_since, f.pending_command_since, f.ended_at, case
            when f.declared_wait is not null then 'declared_wait'
            when f.observed_at - make_interval(secs => p.nudge_delay_seconds) <= f.pending_command_since then 'pending_command'
            when f.observed_at < f.ended_at then 'recent'
            when f.ended_at is not null and f.issue_has_live_run then 'live_run'
            when case when f.ended_at is not null then f.issue_wake_since end between f.observed_at - make_interval(secs => p.wake_stuck_after_seconds)
                 and f.observed_at + make_interval(secs => p.clock_ahead_max_seconds) then 'pending_wake'
            when case when f.ended_at is not null then f.issue_wake_since end is not null then 'stuck_wake'
            -- Only a sweep sees a loop or a question on a screen: the session is active until a sweep has escalated it, and escalated until
            -- a sweep sees that this has ended. decisions.md#a-looping-session-is-never-quiet
            when f.ended_at is null and not (f.idle_since < f.observed_at - make_interval(secs => coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end))
                   and (f.agent_state is null or not (p.vocabulary -> 'needs_person' ? f.agent_state) is true))
                 and not ((f.recent_output <> '' or f.agent_state is not null or f.reports_progress) and f.escalated) then 'recent' end as reason
        from session_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = s.subject_id and (f.issue_status is null or not (p.vocabulary -> 'finished' ? f.issue_status) is true) offset 0
    ) f;


-- Why each session in progress is in its state.
create view session_reasons as
select o.subject_id, o.tenant, o.agent_id, o.issue_wake_since, o.pending_command_since, o.ended_at, f.idle_since, f.open_recovery_action,
       coalesce(o.reason, f.reason) as reason
from session_outlines o
left join exemptions e on e.kind = 'session' and e.subject_id = o.subject_id
                          and (e.until is null or o.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = o.agent_id and (ea.until is null or o.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = o.tenant and (et.until is null or o.observed_at < et.until)
left join lateral (
        select f.idle_since, f.open_recovery_action, case
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when o.agent_id is not null and o.agent_status is null then 'no_such_agent'
            when o.agent_id is not null and not (p.vocabulary -> 'wakeable' ? o.agent_status) is true then 'unavailable'
            when f.escalated and (case when f.reports_progress then f.progressed_at else f.idle_since end <= f.open_recovery_at or f.ended_at is null and not (f.idle_since < f.observed_at - make_interval(secs => coalesce(f.silent_after_seconds,
                   case when f.takes_commands then p.session_silent_after_seconds else p.run_silent_after_seconds end))
                   and (f.agent_state is null or not (p.vocabulary -> 'needs_person' ? f.agent_state) is true)))
                 or greatest(p.attempts_per_day_max, 1) <= f.escalations_last_day
            then case when f.ended_at is null then 'escalated'
                      when f.exit_code is null then 'escalated_crash_unseen'
                      else 'escalated_crash' end
            when f.ended_at is null then 'silent'
            when f.exit_code is null then 'crashed_unseen'
            else 'crashed' end as reason
        from session_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = case when o.reason is null then o.subject_id end and true offset 0
    ) f on true;

create view session_states as
select w.subject_id, w.tenant, w.agent_id, w.reason,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.issue_wake_since
           when w.reason = 'pending_command' then w.pending_command_since
           when w.reason in ('crashed', 'crashed_unseen', 'escalated_crash', 'escalated_crash_unseen') then w.ended_at
           when w.reason = 'escalated' then coalesce((
               select r.created_at from recoveries r
               where r.kind = 'session' and r.subject_id = w.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1), w.idle_since)
           else w.idle_since end as since
from session_reasons w
left join board_texts t on t.reason = w.reason;

create view session_details as
select f.subject_id, t.reason, f.identifier, f.title, f.agent_name, f.idle_since,
       case t.reason
           when 'declared_wait' then f.declared_wait
           when 'crashed' then replace(t.text, '{exit_code}', cast(f.exit_code as text)
               || case when f.exit_code between 129 and 192 then ' (signal ' || cast(f.exit_code - 128 as text) || ')' else '' end)
           when 'escalated_crash' then replace(t.text, '{exit_code}', cast(f.exit_code as text)
               || case when f.exit_code between 129 and 192 then ' (signal ' || cast(f.exit_code - 128 as text) || ')' else '' end)
           when 'exempt' then coalesce(e.reason, ea.reason, et.reason)
           when 'unavailable' then replace(replace(
               t.text, '{status}', replace(f.agent_status, '_', ' ')), '{agent}', coalesce(f.agent_name, ''))
           when 'escalated' then (
               select r.reason from recoveries r
               where r.kind = 'session' and r.subject_id = f.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1)
           else t.text end as detail
from session_facts f
cross join board_texts t
left join exemptions e on e.kind = 'session' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until);

-- The state of each session in progress.
create view session_work_state as
select w.subject_id, w.tenant, d.identifier, d.title, w.agent_id, d.agent_name, w.state, d.detail, coalesce(w.since, d.idle_since) as since
from session_states w
left join lateral (
    select * from session_details d where d.subject_id = w.subject_id and d.reason = w.reason offset 0
) d on true;

-- board/issue/2026-11-24-001402_issue_state
-- The facts and exemptions by which sweep decides.
create view issue_decided_facts as
select f.*, e.reason as exemption, e.until as exemption_until, ea.reason as agent_exemption, ea.until as agent_exemption_until,
       et.reason as tenant_exemption, et.until as tenant_exemption_until,
       -- The agent of which people were told that it is gone or terminated, by what is open.
       (select r.agent_id from recoveries r where r.id = f.open_recovery_id and r.lost_agent) as lost_agent_id,
       -- take_issue fills these in: whether it holds the subject, and the agent and the issue that it holds with it.
       false as held, cast(null as id) as held_agent_id, cast(null as id) as held_issue_id
from issue_facts f
left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
left join agent_exemptions ea on ea.agent_id = f.agent_id
left join tenant_exemptions et on et.tenant = f.tenant;

-- Issues that sweep blocked and no person has taken back. There may be very many, so nothing here reads their facts, and the cross join
-- keeps SQLite from starting with the issues, all of which it would have to sort.
create view escalated_issues as
select r.subject_id, i.tenant, i.identifier, substr(i.title, 1, 1000) as title, i.assignee_agent_id as agent_id,
       substr(a.name, 1, 1000) as agent_name, r.reason, r.attempt, r.created_at as since,
       (select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = r.subject_id and c.action = 'continue')
           as last_attempt_at
from recoveries r
cross join issues i
left join agents a on a.id = i.assignee_agent_id
where i.id = r.subject_id and i.status = 'blocked' and r.kind = 'issue' and r.settled_at is null and r.blocked_subject;


create view issue_outlines with (security_barrier) as
select s.subject_id, s.tenant, s.group_id as agent_id, f.agent_status, f.observed_at, f.reason
from issue_subjects s
cross join lateral (
        select f.agent_status, f.observed_at, case
            when f.has_live_run or f.run_heard_of_at >= f.observed_at - make_interval(secs => p.run_silent_after_seconds) then 'live_run' end as reason
        from issue_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = s.subject_id and true offset 0
    ) f;


-- Why each issue in progress is in its state.
create view issue_reasons as
select o.subject_id, o.tenant, o.agent_id, f.idle_since, f.open_recovery_action, f.pending_wake_since,
       coalesce(o.reason, f.reason) as reason
from issue_outlines o
left join exemptions e on e.kind = 'issue' and e.subject_id = o.subject_id
                          and (e.until is null or o.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = o.agent_id and (ea.until is null or o.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = o.tenant and (et.until is null or o.observed_at < et.until)
left join lateral (
        select f.idle_since, f.open_recovery_action, f.pending_wake_since, case
            when f.pending_wake_since between f.observed_at - make_interval(secs => p.wake_stuck_after_seconds)
                 and f.observed_at + make_interval(secs => p.clock_ahead_max_seconds) then 'pending_wake'
            when f.pending_wake_since is not null then 'stuck_wake'
            when f.declared_wait is not null then 'declared_wait'
            when f.host_plan is not null then 'host_plan'
            when f.observed_at - make_interval(secs => f.run_end_grace_seconds) <= f.last_run_ended_at then 'recent'
            when f.observed_at < f.episode_began_at
                 or f.lost_run is null and f.observed_at - make_interval(secs => p.orphan_grace_seconds) <= f.idle_since then 'recent'
            when e.reason is not null or ea.reason is not null or et.reason is not null then 'exempt'
            when o.agent_id is not null and o.agent_status is null and f.unreachable is null then 'no_such_agent'
            when o.agent_id is not null and not (p.vocabulary -> 'wakeable' ? o.agent_status) is true then 'unavailable'
            when f.obstacle is not null then 'obstacle'
            when f.escalated then 'escalated'
            -- A subject that has used up its escalations of a day is left.
            when greatest(p.attempts_per_day_max, 1) <= f.escalations_last_day
                 and (f.unreachable is not null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
            else 'orphaned' end as reason
        from issue_facts f left join (select * from policy limit 1) p on true
        where f.subject_id = case when o.reason is null then o.subject_id end and true offset 0
    ) f on true;

create view issue_states as
select w.subject_id, w.tenant, w.agent_id, w.reason,
       case when t.state = 'skipped' and w.open_recovery_action = 'abandon' then 'abandoned' else t.state end as state,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since
           when w.reason = 'escalated' then coalesce((
               select r.created_at from recoveries r
               where r.kind = 'issue' and r.subject_id = w.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1), w.idle_since)
           else w.idle_since end as since
from issue_reasons w
left join board_texts t on t.reason = w.reason;

create view issue_details as
select f.subject_id, t.reason, f.identifier, f.title, f.agent_name, f.idle_since,
       case t.reason
           when 'declared_wait' then f.declared_wait
           when 'host_plan' then f.host_plan
           when 'obstacle' then f.obstacle
           when 'exempt' then coalesce(e.reason, ea.reason, et.reason)
           when 'unavailable' then replace(replace(
               t.text, '{status}', replace(f.agent_status, '_', ' ')), '{agent}', coalesce(f.agent_name, ''))
           when 'escalated' then (
               select r.reason from recoveries r
               where r.kind = 'issue' and r.subject_id = f.subject_id and r.action = 'escalate'
               order by r.created_at desc limit 1)
           else t.text end as detail
from issue_facts f
cross join board_texts t
left join exemptions e on e.kind = 'issue' and e.subject_id = f.subject_id
                          and (e.until is null or f.observed_at < e.until)
left join agent_exemptions ea on ea.agent_id = f.agent_id and (ea.until is null or f.observed_at < ea.until)
left join tenant_exemptions et on et.tenant = f.tenant and (et.until is null or f.observed_at < et.until);

-- The state of each issue in progress, and of those that sweep blocked.
create view issue_work_state as
select w.subject_id, w.tenant, d.identifier, d.title, w.agent_id, d.agent_name, w.state, d.detail, coalesce(w.since, d.idle_since) as since, true as in_progress
from issue_states w
left join lateral (
    select * from issue_details d where d.subject_id = w.subject_id and d.reason = w.reason offset 0
) d on true
union all
select e.subject_id, e.tenant, e.identifier, e.title, e.agent_id, e.agent_name, t.state, e.reason, e.since, false
from escalated_issues e
left join board_texts t on t.reason = 'escalated';

-- take/issue/2026-11-24-001405_take_issue
-- Locks the issue with its agent, so that a pause and a wake exclude each other.
create function take_issue(wanted id) returns setof issue_decided_facts language plpgsql as $$
#variable_conflict use_variable
declare
    agent id;
    issue id;
    is_held boolean;
    facts issue_decided_facts;
begin
    select (select a.id from agents a where a.id = i.assignee_agent_id for share skip locked), null into agent, issue
    from issues i where i.id = wanted for update of i skip locked;
    is_held := found;
    set local sweep.facts_of = 'one';
    select * into facts from issue_decided_facts f where f.subject_id = wanted;
    if found then
        facts.held := is_held;
        facts.held_agent_id := agent;
        facts.held_issue_id := issue;
        return next facts;
    end if;
end $$;
revoke execute on function take_issue from public;
comment on function take_issue is 'called by sweeps';

-- keep/both/2026-11-24-001409_over
-- The rows of sweep's own that are over: nothing rests upon them but the past. `at`: their place in the order in which sweeps look at them;
-- `over_since`: since when they are over. decisions.md#what-is-over

-- A subject's history goes as a whole: when it is not in progress, nothing about it is open, and nothing was recorded for long enough. So an
-- episode is never cut in two. What is not summed yet stays.
create view recoveries_over as
select r.id, r.created_at as at,
       (select max(o.created_at) from recoveries o where o.kind = r.kind and o.subject_id = r.subject_id) as over_since
from recoveries r
where r.settled_at is not null
  and r.created_at <= (select min(u.until) from upkeep u where u.task like 'sum%')
  and not exists (select 1 from recoveries o where o.kind = r.kind and o.subject_id = r.subject_id and o.settled_at is null)
  and not (case r.kind
      when 'issue' then exists (select 1 from issue_subjects s where s.subject_id = r.subject_id limit 1 offset 0)
      when 'session' then exists (select 1 from session_subjects s where s.subject_id = r.subject_id limit 1 offset 0)
      else false end);

-- A sweep of everything goes when ten later ones of its shard have succeeded: the last success, the latest sweep and the usual interval are
-- theirs. Of sweeps that found nothing to do the latest of each hour is enough after a day.
create view sweeps_over as
select s.id, s.started_at as at,
       case when s.idle and exists (
           select 1 from sweeps t
           where t.started_at > s.started_at and t.started_at < s.started_at + make_interval(secs => 3600) and date_trunc('hour', t.started_at at time zone 'UTC') = date_trunc('hour', s.started_at at time zone 'UTC')
             and t.idle and t.is_restricted = s.is_restricted and t.shards = s.shards and t.shard = s.shard
       ) then '1970-01-01T00:00:00.000Z' else s.started_at end as over_since
from sweeps s
where s.started_at < statement_timestamp() - make_interval(secs => 86400)
  and (s.is_restricted or (
      select t.finished_at from sweeps t
      where t.succeeded and t.shards = s.shards and t.shard = s.shard and t.finished_at > s.started_at
      order by t.finished_at limit 1 offset 10) is not null);

-- A notification that says that something lasts stays as long as it does: people are not notified again. Of stuck wakes that is the latest that
-- has reached people. What a clock that was ahead has dated in the future does not count.
create view notifications_over as
select n.id, n.created_at as at, coalesce(n.delivered_at, n.dead_at) as over_since
from notifications n
where coalesce(n.delivered_at, n.dead_at) is not null
  and not case n.event
      when 'wakes_stuck' then n.delivered_at is not null and not exists (
          select 1 from notifications o
          where o.event = 'wakes_stuck' and o.destination = n.destination and o.part = n.part and o.created_at > n.created_at
            and o.created_at <= statement_timestamp() and o.delivered_at is not null)
      when 'host_blocked' then exists (select 1 from issues i where i.id = n.subject_id and i.status = 'blocked')
      when 'unstarted' then exists (select 1 from issues i where i.id = n.subject_id and i.status = 'todo')
      else false end;
