-- The facts of an issue that decide. docs/host-reference.md explains every column.

-- The oldest continuation that is on its way to an issue: its time, which has 24 characters, and then its description.
create view issue_pending as
select i.id as issue_id, (
    select min(oldest) from (
        -- The order is by a column of the result: by another, all wakes would be read where a host's are the two halves of a union.
        select oldest from ({{ a_few("select w.created_at || w.detail as oldest, w.created_at from pending_wakes w where w.issue_id = i.id order by w.created_at") }})
{%- if steps %}
        union all
        {{ a_few("select w.created_at || w.detail from plans p join plan_steps s on s.plan_id = p.id
            join pending_wakes w on w.plan_step_id = s.id where p.issue_id = i.id and p.tenant = i.tenant") }}
{%- endif %}
{%- if sessions %}
        union all
        -- A relaunch resumes its session's issue.
        {{ a_few("select r.created_at || 'the relaunch of session ' || substr(r.session_id, 1, 8) from issue_relaunches r where r.issue_id = i.id") }}
{%- endif %}
    )
) as oldest
from issues i;

-- The beginning of each issue's episode. Without rows max() is null, and so is max(a, null); '' sorts before every timestamp instead.
create view issue_episodes as
select i.id as issue_id, max(
    coalesce(i.started_at, i.created_at),
    coalesce((select max(r.created_at) from issue_runs r where r.issue_id = i.id and r.retry_reason is null and not r.is_attempt), ''),
    coalesce((select max(e.created_at) from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
              -- An escalation in the future is a clock's mistake and began no episode: decisions.md#times-in-the-future
              and e.created_at <= strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), '')
) as began_at
from issues i;

create view issue_facts as
select
    i.id as subject_id,
    i.tenant,
    i.identifier,
    substr(i.title, 1, 1000) as title,
    i.status,
    i.assignee_agent_id as agent_id,
    substr(a.name, 1, 1000) as agent_name,
    a.status as agent_status,
    i.assignee_user_id is not null as assigned_to_user,
    exists (select 1 from runs r where r.issue_id = i.id and {{ is_live("r") }})
        or exists (select 1 from runs r where r.id = i.checkout_run_id and {{ is_live("r") }})
        or exists (select 1 from wakes w join runs r on r.wake_id = w.id where w.issue_id = i.id and w.status {{ on_its_way }} and {{ is_live("r") }})
{%- if steps %}
        or exists (select 1 from plans p join plan_steps s on s.plan_id = p.id join worked_steps r on r.id = s.id
                   where p.issue_id = i.id and p.tenant = i.tenant and r.has_live_run)
{%- endif %}
{%- if sessions %}
        or exists (select 1 from issue_sessions s where s.issue_id = i.id and s.status = 'active' and s.ended_at is null)
{%- endif %}
        as has_live_run,
    (select max({{ heard_of_at("r") }}) from {{ unended_runs() }}) as run_heard_of_at,
    (select max({{ lost_run("r") }}) from {{ unended_runs() }}) as lost_run,
    substr(pending.oldest, 1, 24) as pending_wake_since,
    substr(pending.oldest, 25) as pending_wake,
    case when i.waiting_for is not null and coalesce(i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now'), 1) then substr(i.waiting_for, 1, 1000)
         when i.wait_until > strftime('%Y-%m-%dT%H:%M:%fZ', 'now') then coalesce('until ' || strftime('%Y-%m-%d %H:%M', i.wait_until), 'for ever')
{%- if sessions %}
         when exists (select 1 from issue_sessions s where s.issue_id = i.id and s.status = 'paused' and s.ended_at is null) then 'its session is paused'
{%- endif %} end
        as declared_wait,
    {{ "cast(null as text)" if native else "substr(i.obstacle, 1, 1000)" }} as obstacle,
    (select r.id from issue_runs r where r.issue_id = i.id order by r.created_at desc, r.id limit 1) as last_run_id,
    (select max(r.finished_at) from issue_runs r where r.issue_id = i.id and not r.live) as last_run_ended_at,
    (select 'run ' || substr(r.id, 1, 8) || ' ' || replace(r.status, '_', ' ') from issue_runs r
     where r.issue_id = i.id and not r.live order by r.created_at desc, r.id limit 1) as last_run_end,
    cast(null as text) as last_run_error,
    cast(null as text) as last_run_agent_id,
    {{ "cast(null as text)" if native else "substr(i.host_plan, 1, 1000)" }} as host_plan,
    {{ "cast(null as text)" if native else "substr(i.unreachable, 1, 1000)" }} as unreachable,
    cast(null as text) as unstarted,
    behavior.run_end_grace_seconds,
    behavior.resume_advice,
    cast(null as text) as resume_commands,
    max(
        i.updated_at,
        coalesce((select max(r.last_sign_at) from issue_runs r where r.issue_id = i.id), '')
{%- if steps %},
        coalesce((select max(coalesce(r.finished_at, r.heartbeat_at, r.created_at)) from plans p join plan_steps s on s.plan_id = p.id
                  join runs r on r.plan_step_id = s.id where p.issue_id = i.id and p.tenant = i.tenant), '')
{%- endif %}
{%- if sessions %},
        coalesce((select max(max(coalesce(s.last_activity_at, ''), coalesce(s.ended_at, ''))) from sessions s
                  where s.issue_id = i.id and s.tenant = i.tenant), '')
{%- endif %}
    ) as idle_since,
    episode.began_at as episode_began_at,
    max(
        (select count(*) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'
         and c.created_at >= episode.began_at)
            + (select count(*) from host_continuations c where c.issue_id = i.id and c.created_at >= episode.began_at),
        -- The ledger's number outlives runs that the host prunes.
        (select coalesce(max(c.attempt), 0) from recoveries c where c.kind = 'issue' and c.subject_id = i.id
         and c.action = 'continue' and c.created_at >= episode.began_at)
    ) - (select count(*) from unserved_continuations c where c.kind = 'issue' and c.subject_id = i.id
         and c.created_at >= episode.began_at) as attempts,
    (select count(*) from unserved_continuations c where c.kind = 'issue' and c.subject_id = i.id
     and c.created_at >= episode.began_at) as attempts_unserved,
    (select count(*) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'
     and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        + (select count(*) from host_continuations c where c.issue_id = i.id and c.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
        as attempts_last_day,
    nullif(max(
        coalesce((select max(c.created_at) from recoveries c where c.kind = 'issue' and c.subject_id = i.id and c.action = 'continue'), ''),
        coalesce((select max(c.created_at) from host_continuations c where c.issue_id = i.id), '')
    ), '') as last_attempt_at,
    (select max(r.ended_at) from issue_runs r where r.issue_id = i.id and r.is_attempt) as last_attempt_ended_at,
    coalesce(o.action = 'escalate' and not o.blocked_subject and o.since >= episode.began_at, 0) as escalated,
    (select count(*) from recoveries e where e.kind = 'issue' and e.subject_id = i.id and e.action = 'escalate'
     and e.created_at between strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-24 hours') and strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) as escalations_last_day,
    o.id as open_recovery_id,
    o.action as open_recovery_action,
    o.since as open_recovery_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as observed_at
from issues i
cross join host_behavior behavior
left join agents a on a.id = i.assignee_agent_id
{{ open_recovery("issue", "i.id", "not (o.blocked_subject and i.status = 'blocked')") }}
join issue_pending pending on pending.issue_id = i.id
join issue_episodes episode on episode.issue_id = i.id;
