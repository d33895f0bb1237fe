-- The facts of a session that decide. docs/host-reference.md explains every column.

-- The beginning of each session's episode, by the ledger. A sign of life begins one as well: Rust decides which signs count.
create view session_episodes as
select s.id as session_id, {{ greatest }}(s.created_at, coalesce(
    (select max(e.created_at) from recoveries e
     where e.kind = 'session' and e.subject_id = s.id and e.action in ('escalate', 'recover', 'hand_over')
       and e.created_at <= {{ at_statement }}), s.created_at)) as began_at
from sessions s;

create view session_facts as
select
    s.id as subject_id,
    s.tenant,
    s.identifier,
    substr(s.title, 1, 1000) as title,
    s.status,
    -- A session waits with its issue, if that waits for a person or declares what it waits for.
    case when s.stall_paused then 'its stall detection is paused'
         -- The supervisor has a minute to see that the agent goes on.
         when s.agent_state = 'exhausted' and s.resumes_at > {{ before(at_statement, 60) }}
         then 'its agent''s quota is used up until ' || {{ minute("s.resumes_at") }} || ' UTC'
         when s.agent_id is not null and (i.assignee_user_id is not null or i.assignee_agent_id <> s.agent_id) then 'its issue is another''s now'
         when i.status in ('blocked', 'in_review') then 'its issue is ' || replace(i.status, '_', ' ')
         when i.waiting_for is not null and coalesce(i.wait_until > {{ at_statement }}, true) then 'its issue waits: ' || substr(i.waiting_for, 1, 1000)
         when i.wait_until > {{ at_statement }}
         then 'its issue waits ' || coalesce('until ' || {{ minute("i.wait_until") }}, 'for ever') end
        as declared_wait,
    s.stall_paused,
    s.agent_id,
    substr(a.name, 1, 1000) as agent_name,
    a.status as agent_status,
    i.id as issue_id,
    i.status as issue_status,
    exists (select 1 from runs r where r.issue_id = i.id and {{ is_at_work("r") }})
        or exists (select 1 from runs r where r.id = i.checkout_run_id and {{ is_at_work("r") }})
        -- The condition of issue_sessions, with nobody's and the assignee's sessions apart and in order, so that an index passes by all others.
{%- for whose in ["is null", "= i.assignee_agent_id"] %}
        or (select o.id from sessions o where o.issue_id = i.id and o.tenant = i.tenant and o.agent_id {{ whose }}
            and o.status = 'active' and o.ended_at is null and o.id <> s.id order by o.started_at limit 1) is not null
{%- endfor %}
{%- if steps %}
        or {{ has_worked_step() }}
{%- endif %}
        as issue_has_live_run,
    (select min(w.created_at) from ({{ few_on_their_way("s.id") }}
    ) w) as issue_wake_since,
    coalesce(s.started_at, s.created_at) as started_at,
    coalesce(s.last_progress_at, s.started_at, s.created_at) as progressed_at,
    s.ended_at,
    s.exit_code,
    s.silent_after_seconds,
    s.recent_output,
    substr(s.directory, 1, 1000) as directory,
    true as takes_commands,
    s.last_progress_at is not null as reports_progress,
    s.takes_nudges,
    s.agent_state,
    substr(s.agent_state_kind, 1, 100) as agent_state_kind,
    coalesce(s.agent_state_since, s.updated_at) as agent_state_since,
    substr(s.agent_question, 1, 1000) as agent_question,
    substr(s.agent_state_evidence, 1, 1000) as agent_state_evidence,
    (select min(c.created_at) from session_commands c where c.session_id = s.id and c.status = 'queued') as pending_command_since,
    {{ greatest }}(
        coalesce(s.started_at, s.created_at), coalesce(s.last_activity_at, s.started_at, s.created_at),
        coalesce(s.last_progress_at, s.started_at, s.created_at)
    ) as idle_since,
    episode.began_at as episode_began_at,
    (select count(*) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at >= episode.began_at) as attempts,
    (select count(*) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue'
     and c.created_at between {{ before(at_statement, 86400) }} and {{ at_statement }}) as attempts_last_day,
    (select max(c.created_at) from recoveries c where c.kind = 'session' and c.subject_id = s.id and c.action = 'continue')
        as last_attempt_at,
    coalesce(o.action = 'escalate' and o.since >= episode.began_at, false) as escalated,
    (select count(*) from recoveries e where e.kind = 'session' and e.subject_id = s.id and e.action = 'escalate'
     and e.created_at between {{ before(at_statement, 86400) }} and {{ at_statement }}) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    {{ at_statement }} as observed_at
from sessions s
left join agents a on a.id = s.agent_id
-- A session's issue counts only if it is of the session's tenant.
left join issues i on i.id = s.issue_id and i.tenant = s.tenant
{{ open_recovery("session", "s.id") }}
join session_episodes episode on episode.session_id = s.id;
