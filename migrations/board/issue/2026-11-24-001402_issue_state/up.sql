-- The facts and exemptions by which sweep decides.
{{ decided_facts("issue") }}

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

{% set live %}
            when f.has_live_run or f.run_heard_of_at >= {{ before("f.observed_at", "p.run_silent_after_seconds") }} then 'live_run'{% endset -%}
{%- set waits %}{{ wake_branches("f.pending_wake_since") }}
            when f.declared_wait is not null then 'declared_wait'
            when f.host_plan is not null then 'host_plan'{% endset -%}
{%- set rest %}
            when {{ before("f.observed_at", "f.run_end_grace_seconds") }} <= f.last_run_ended_at then 'recent'
            when f.observed_at < f.episode_began_at
                 or f.lost_run is null and {{ before("f.observed_at", "p.orphan_grace_seconds") }} <= f.idle_since then 'recent'
            {{- exemption_and_agent(known, " and f.unreachable is null") }}
            when f.obstacle is not null then 'obstacle'
            when f.escalated then 'escalated'
            -- A subject that has used up its escalations of a day is left.
            when {{ greatest }}(p.attempts_per_day_max, 1) <= f.escalations_last_day
                 and (f.unreachable is not null or {{ attempts_used_up("issue") }}) then 'escalated'
            else 'orphaned'{% endset -%}
{%- if at_once %}
-- The first step: a few reads of live runs and wakes answer for all issues in progress. The barrier protects no data: it has PostgreSQL compute
-- this view once, while a filter by tenant, agent or id still reaches the tables.
create view issue_outlines with (security_barrier) as
select f.subject_id, f.tenant, f.agent_id, f.agent_status, f.observed_at, f.pending_wake_since, case
            {{- live }}{{ waits }} end as reason
from issue_facts f
left join {{ policy }} p on true
where f.status = 'in_progress' and f.agent_id is not null and not f.assigned_to_user;

{% elif one_by_one %}
create view issue_outlines with (security_barrier) as
select s.subject_id, s.tenant, s.group_id as agent_id, f.agent_status, f.observed_at, f.reason
from issue_subjects s
cross join {{ facts_of("issue", "s.subject_id", ["agent_status", "observed_at"], live) }} f;

{% endif %}
-- Why each issue in progress is in its state.
{%- if at_once %}
{{ reasons("issue", ["pending_wake_since"], live ~ waits, ["idle_since", "open_recovery_action"], rest) }}
{%- else %}
{{ reasons("issue", [], live, ["idle_since", "open_recovery_action", "pending_wake_since"], waits ~ rest) }}
{%- endif %}

{{ states("issue", "when w.reason in ('pending_wake', 'stuck_wake') then w.pending_wake_since") }}

{{ details("issue", "when 'declared_wait' then f.declared_wait
           when 'host_plan' then f.host_plan
           when 'obstacle' then f.obstacle") }}

-- The state of each issue in progress, and of those that sweep blocked.
{{ work_state("issue", ", true as in_progress") }}
union all
select e.subject_id, e.tenant, e.identifier, e.title, e.agent_id, e.agent_name, t.state, e.reason, e.since, false
from escalated_issues e
left join board_texts t on t.reason = 'escalated';
