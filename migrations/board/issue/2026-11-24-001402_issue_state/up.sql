-- What is decided by.
{{ decided_facts("issue") }}

-- The agent is locked as well, so that a pause and a wake exclude each other.
{{ take("issue", "select (select a.id from agents a where a.id = i.assignee_agent_id for share skip locked), null into agent, issue
    from issues i where i.id = wanted for update of i skip locked") }}

-- Counted by agent, very many rows are joined with names last.
create view agent_names as
select id as agent_id, substr(name, 1, 1000) as agent_name from agents;

-- What sweep blocked waits for a person, who has not taken it back. There may be very many: nothing here asks for their facts, and
-- SQLite does not put the issues first, which would have it sort all of them.
create view escalated_issues as
select r.subject_id, i.tenant, i.identifier, substr(i.title, 1, 1000) as title, i.assignee_agent_id as agent_id,
       substr(a.name, 1, 1000) as agent_name, r.reason, r.attempt, r.created_at as since,
       (select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = r.subject_id and c.action = 'continue')
           as last_attempt_at
from recoveries r
cross join issues i
left join agents a on a.id = i.assignee_agent_id
where i.id = r.subject_id and i.status = 'blocked' and r.kind = 'issue' and r.settled_at is null and r.blocked_subject;

-- The state of each issue in progress, and of those that sweep blocked.
create view issue_work_state as
select w.subject_id, w.tenant, w.identifier, w.title, w.agent_id, w.agent_name,
       {{ state() }} as state,
       case w.reason
           when 'declared_wait' then w.declared_wait
           when 'host_plan' then w.host_plan
           when 'obstacle' then w.obstacle
           {{ other_details("issue") }} end as detail,
       case
           when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since
           {{ other_since("issue") }} end as since,
       true as in_progress
from (
    select f.*, {{ exemption() }},
           case
               when f.has_live_run then 'live_run'
               {{ wake_branches("f.pending_wake_since") }}
               when f.declared_wait is not null then 'declared_wait'
               when f.host_plan is not null then 'host_plan'
               when {{ before("f.observed_at", "f.run_end_grace_seconds") }} <= f.last_run_ended_at then 'recent'
               when f.observed_at < f.episode_began_at
                    or {{ before("f.observed_at", "p.orphan_grace_seconds") }} <= f.idle_since then 'recent'
               {{ exemption_and_agent(" and f.unreachable is null") }}
               when f.obstacle is not null then 'obstacle'
               when f.escalated then 'escalated'
               -- A day's escalations are used up: it would be escalated once more, and is left.
               when {{ greatest }}(p.attempts_per_day_max, 1) <= f.escalations_last_day
                    and (f.unreachable is not null or p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day) then 'escalated'
               else 'orphaned' end as reason
    {{ from_subjects("issue") }}
) w
left join board_texts t on t.reason = w.reason
union all
select e.subject_id, e.tenant, e.identifier, e.title, e.agent_id, e.agent_name, t.state, e.reason, e.since, false
from escalated_issues e
left join board_texts t on t.reason = 'escalated';
