-- What an issue waits for, and which answers of people end a wait.

-- What a person did about an issue that is an answer, beside a comment, a wake and the release of a hold. That somebody read it, or tidied
-- an inbox, is none.
create view answers as
select l.company_id, l.entity_id as issue_key, l.created_at
from public.activity_log l
where l.entity_type = 'issue' and l.actor_type = 'user'
  and l.action in ('issue.updated', 'issue.checked_out', 'issue.released', 'issue.admin_force_release',
                   'issue.recovery_action_resolved', 'issue.scheduled_retry_retry_now');

-- What an issue waits for, whatever its status says; the first that applies. And whether a hold may stand where nobody looks.
create view issue_waits as
select i.id as issue_id, coalesce(
    (select 'blocked by ' || left(coalesce(b.identifier, b.title), 1000)
     from public.issue_relations l join public.issues b on b.id = l.issue_id and b.company_id = i.company_id
     where l.company_id = i.company_id and l.related_issue_id = i.id and l.type = 'blocks'
       and b.status not in ('done', 'cancelled')
     order by b.created_at, b.id limit 1),
    -- A question that wakes nobody when it is answered is no reason to wait.
    (select 'open question' from public.issue_thread_interactions q
     where q.company_id = i.company_id and q.issue_id = i.id and q.status = 'pending'
       and q.continuation_policy in ('wake_assignee', 'wake_assignee_on_accept') limit 1),
    (select 'open approval' from public.issue_approvals l join public.approvals a on a.id = l.approval_id
     where l.company_id = i.company_id and a.company_id = i.company_id and l.issue_id = i.id
       and a.status in ('pending', 'revision_requested') limit 1),
    (select case when r.status in ('active', 'escalated') then 'the host''s own recovery is active'
                 else 'the host forbids to resume it' end
     from public.issue_recovery_actions r
     where r.company_id = i.company_id and r.source_issue_id = i.id
       and (r.status in ('active', 'escalated') or r.evidence #>> '{automaticRecovery,replay}' = 'blocked')
     order by r.status in ('active', 'escalated') desc limit 1),
    case when i.monitor_next_check_at > statement_timestamp()
         then 'monitor check at '
              || to_char(within_calendar(i.monitor_next_check_at) at time zone 'UTC', 'YYYY-MM-DD HH24:MI UTC') end,
    -- Of an issue's holds a hundred are looked at, as many issues below it ask.
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
-- A hold is inherited from every ancestor. `union`, not `union all`, so that parents in a circle come to an end.
cross join lateral (
    with recursive ancestors as (
        select i.id
        union
        select p.parent_id from ancestors a join public.issues p on p.id = a.id
        where p.parent_id is not null and p.company_id = i.company_id
    )
    select array(select id from ancestors limit 101) as ids
) lineage;
