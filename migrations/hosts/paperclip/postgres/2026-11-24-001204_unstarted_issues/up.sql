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
