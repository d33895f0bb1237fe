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
