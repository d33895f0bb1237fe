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
