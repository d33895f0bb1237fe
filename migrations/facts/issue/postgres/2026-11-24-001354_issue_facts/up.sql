{#- The condition of issue_sessions; that view would read the issues once more, all finished ones where many sessions are active. -#}
{%- macro has_session(status) %}exists (select from sessions s where s.issue_id = i.id and s.status = '{{ status }}' and s.ended_at is null
                   and s.tenant = i.tenant and (s.agent_id is null or s.agent_id = i.assignee_agent_id)){% endmacro -%}
-- The facts of an issue that decide. docs/host-reference.md explains every column.

-- The continuations that are on their way to an issue: its own wakes, those of the steps of its plans, and relaunches of its sessions.
-- decisions.md#linked-work
create view issue_continuations as
select w.issue_id, null::id as session_id, w.created_at, w.detail from pending_wakes w where w.issue_id is not null
{%- if steps %}
union all
-- A plan's issue counts only if it is of the plan's tenant.
select i.id, null, w.created_at, w.detail
from issues i join plans p on p.issue_id = i.id and p.tenant = i.tenant
join plan_steps s on s.plan_id = p.id join pending_wakes w on w.plan_step_id = s.id
{%- endif %}
{%- if sessions %}
union all
select r.issue_id, r.session_id, r.created_at, 'the relaunch of session ' || left(r.session_id::text, 8) from issue_relaunches r
{%- endif %};

-- The oldest continuation that is on its way to an issue.
create view issue_pending as
select c.issue_id, min(c.created_at) as created_at, (array_agg(c.detail order by c.created_at))[1] as detail
from issue_continuations c group by c.issue_id;

create view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    left(i.title, 1000) as title,
    i.status,
    i.assignee_agent_id as agent_id,
    left(a.name, 1000) as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    coalesce(unended.has_live_run, false)
{%- if sessions %}
        or {{ has_session("active") }}
{%- endif %}
        as has_live_run,
    unended.heard_of_at as run_heard_of_at,
    unended.lost_run,
    pending.created_at as pending_wake_since,
    pending.detail as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > statement_timestamp(), true) then left(i.waiting_for, 1000)
         when i.wait_until > statement_timestamp() then coalesce('until ' || to_char(i.wait_until at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), 'for ever')
{%- if sessions %}
         when {{ has_session("paused") }} then 'its session is paused'
{%- endif %} end
        as declared_wait,
    {{ "null::text" if native else "left(i.obstacle, 1000)" }} as obstacle,
    run.last_id as last_run_id,
    run.last_ended_at as last_run_ended_at,
    run.last_end as last_run_end,
    null::text as last_run_error,
    null::id as last_run_agent_id,
    {{ "null::text" if native else "left(i.host_plan, 1000)" }} as host_plan,
    {{ "null::text" if native else "left(i.unreachable, 1000)" }} as unreachable,
    null::text as unstarted,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    null::text as resume_commands,
    greatest(i.updated_at, run.last_sign_at
{%- if steps %},
        (select max(coalesce(r.finished_at, r.heartbeat_at, r.created_at))
         from plans p join plan_steps s on s.plan_id = p.id join runs r on r.plan_step_id = s.id
         where p.issue_id = i.id and p.tenant = i.tenant)
{%- endif %}
{%- if sessions %},
        -- Only the latest thousand sessions: for all of them PostgreSQL would read the whole table, for each issue.
        (select max(greatest(s.last_activity_at, s.ended_at))
         from (select * from sessions s where s.issue_id = i.id and s.tenant = i.tenant order by s.created_at desc limit 1000) s)
{%- endif %}
    ) as idle_since,
    episode.began_at as episode_began_at,
    continuation.since_episode - unserved.since_episode as attempts,
    unserved.since_episode as attempts_unserved,
    continuation.last_day as attempts_last_day,
    continuation.last_at as last_attempt_at,
    run.last_continuation_ended_at as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.since >= episode.began_at, false) as escalated,
    escalation.last_day as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    statement_timestamp() as observed_at
from issues i
cross join host_behavior behavior
left join agents a on a.id = i.assignee_agent_id
left join issue_pending pending on pending.issue_id = i.id
{{ open_recovery("issue", "i.id", "not (o.blocked_subject and i.status = 'blocked')") }}
-- One pass each over an issue's runs that have not ended, all its runs, its escalations and its continuations. The latest thousand runs tell enough.
left join lateral (
    select bool_or(r.is_live) as has_live_run, max({{ heard_of_at("r") }}) as heard_of_at, max({{ lost_run("r") }}) as lost_run
    from {{ unended_runs() }}
) unended on true
left join lateral (
    select (array_agg(r.id order by r.created_at desc, r.id))[1] as last_id,
           max(r.last_sign_at) as last_sign_at,
           max(r.finished_at) filter (where not r.live) as last_ended_at,
           (array_agg('run ' || left(r.id::text, 8) || ' ' || replace(r.status, '_', ' ') order by r.created_at desc, r.id)
               filter (where not r.live))[1] as last_end,
           max(r.ended_at) filter (where r.is_continuation or r.is_ours) as last_continuation_ended_at,
           max(r.created_at) filter (where r.retry_reason is null and not r.is_continuation and not r.is_ours) as last_own_at,
           -- The continuations that the host queued itself; the ledger counts sweep's own.
           array_agg(r.created_at) filter (
               where r.is_continuation
                 and not exists (select from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.wake_id = r.wake_id)
           ) as continued_at
    from (select * from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1000) r
) run on true
left join lateral (
    -- An escalation in the future is a clock's mistake and began no episode: decisions.md#times-in-the-future
    select max(e.created_at) filter (where e.created_at <= statement_timestamp()) as last_at,
           count(*) filter (where e.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day
    from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
) escalation on true
cross join lateral (
    select greatest(coalesce(i.started_at, i.created_at), run.last_own_at, escalation.last_at) as began_at
) episode
-- Every continuation counts as an attempt, sweep's and the host's alike; the ledger's number outlives runs that the host prunes.
left join lateral (
    select greatest(count(*) filter (where c.created_at >= episode.began_at),
                    max(c.attempt) filter (where c.created_at >= episode.began_at)) as since_episode,
           count(*) filter (where c.created_at between statement_timestamp() - interval '24 hours' and statement_timestamp()) as last_day,
           max(c.created_at) as last_at
    from (select r.created_at, r.attempt from recoveries r where r.kind = 'issue' and r.subject_id = i.id and r.action = 'continue'
          union all
          select unnest(run.continued_at), null) c
) continuation on true
left join lateral (
    select count(*) as since_episode from unserved_continuations c
    where c.kind = 'issue' and c.subject_id = i.id and c.created_at >= episode.began_at
) unserved on true;
