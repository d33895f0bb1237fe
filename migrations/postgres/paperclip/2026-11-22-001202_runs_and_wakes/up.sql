-- What runs and wakes tell of an issue, and how a new one is queued. They name their issue in JSON, which may hold
-- anything: it is compared as text, never cast. The host's indexes on it begin with the company.

-- The detours through companies and agents lose no row (the host files a wake under its agent's company): the only indexes
-- on a status begin with these columns, and through them the few live rows are found without reading all that are finished.
create view runs as
select r.id, r.company_id, r.context_snapshot ->> 'issueId' as issue_key, r.agent_id, r.wakeup_request_id as wake_id,
       r.responsible_user_id, r.created_at, r.finished_at,
       greatest(r.created_at, r.started_at, r.finished_at) as last_sign_at,
       r.context_snapshot ->> 'retryReason' as retry_reason,
       r.status in ('queued', 'scheduled_retry', 'running') as live
from public.companies c
join public.heartbeat_runs r on r.company_id = c.id
where not is_too_large(r.context_snapshot);

create view pending_wakes as
select w.id, w.company_id, w.payload ->> 'issueId' as issue_key, within_calendar(w.created_at) as created_at
from public.agents a
join public.agent_wakeup_requests w on w.company_id = a.company_id and w.agent_id = a.id
where w.status in ('queued', 'deferred_issue_execution', 'claimed') and not is_too_large(w.payload);

-- One row for each issue, gathered in a single pass over its latest runs: where the index on the issue is missing, a pass is dear.
-- Of a million runs the latest thousand tell enough.
create view issue_histories as
select i.id as issue_id, h.last_run_id, h.last_ended_at, h.last_sign_at, h.began_at, h.continued_at,
       coalesce(nullif(h.responsible_user_id, ''), nullif(i.responsible_user_id, ''),
                nullif(p.responsible_user_id, ''), nullif(c.default_responsible_user_id, '')) as responsible_user_id
from public.issues i
join public.companies c on c.id = i.company_id
left join public.issues p on p.id = i.parent_id and p.company_id = i.company_id
cross join lateral (
    select (array_agg(r.id order by r.created_at desc, r.id))[1] as last_run_id,
           (array_agg(r.responsible_user_id order by r.created_at desc, r.id))[1] as responsible_user_id,
           max(r.last_sign_at) as last_sign_at,
           max(r.finished_at) filter (where not r.live) as last_ended_at,
           -- Any retry, be it ours or the host's (a lost process, a provider's error), belongs to the episode it resumes.
           max(r.created_at) filter (where r.retry_reason is null) as began_at,
           -- The continuations that the host queued itself; ours are counted in the ledger.
           array_agg(r.created_at) filter (
               where r.retry_reason = 'issue_continuation_needed'
                 and not exists (select from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.wake_id = r.wake_id)
           ) as continued_at
    from (select * from runs r where r.company_id = i.company_id and r.issue_key = i.id::text
          order by r.created_at desc, r.id limit 1000) r
) h;

create view wakes as
select w.id, w.agent_id, i.id as issue_id, w.reason, w.payload, w.requested_by_actor_id as requested_by, w.status, w.created_at
from public.agent_wakeup_requests w
left join public.issues i on i.company_id = w.company_id and i.id::text = w.payload ->> 'issueId';

-- The server executes queued runs only: a wake without its run would stay queued for ever.
create function insert_wake() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
declare
    issue record;
    next_run_id uuid := gen_random_uuid();
    -- The latest run that the same agent made of this issue: its session is taken up again.
    resumed_run_id uuid := (
        select r.id from public.issues i join runs r on r.company_id = i.company_id and r.issue_key = i.id::text
        where i.id = new.issue_id and r.agent_id = new.agent_id
        order by r.created_at desc, r.id limit 1
    );
begin
    select i.company_id, h.responsible_user_id into issue
    from public.issues i join issue_histories h on h.issue_id = i.id
    where i.id = new.issue_id;
    -- On a queued run without such a user the server fails at every tick, and recovers nothing else either.
    if issue.responsible_user_id is null then
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
            issue.responsible_user_id,
            jsonb_strip_nulls(jsonb_build_object(
                'issueId', new.issue_id, 'taskId', new.issue_id, 'taskKey', new.issue_id,
                'wakeReason', new.reason, 'retryReason', new.reason, 'retryOfRunId', resumed_run_id,
                'wakeSource', 'automation', 'wakeTriggerDetail', 'system', 'source', 'issue.continuation_recovery')));
    update public.agent_wakeup_requests set run_id = next_run_id where id = new.id;
    return new;
end $$;
create trigger insert_wake instead of insert on wakes for each row execute function insert_wake();
revoke execute on function insert_wake from public;
