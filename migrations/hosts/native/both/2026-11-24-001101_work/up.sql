-- The control plane that sweep brings when there is no other host: the work, its agents, and the runs of the work.
-- On PostgreSQL identifiers are bounded, and descriptions may have any length, since the views cut them. SQLite reads a whole text into
-- memory to cut it, so there the texts of a row that sweeps read have 10,000 bytes at most. decisions.md#bounds-on-rows

create table agents (
    {{ key }},
    name text not null,
    status text not null default 'idle'
        check (status in ('active', 'idle', 'running', 'error', 'paused', 'pending_approval', 'terminated')),
    {{ time("created_at") }} not null default {{ now_of_transaction }},
    {{ time("updated_at") }} not null default {{ now_of_transaction }}
    {{ at_most("10,000 bytes of text", 10000, ["id", "name"]) }}
){{ strict }};

create table issues (
    {{ key }},
    {{ short_text("tenant", 200) }} not null default 'default',
    {{ short_text("identifier", 200) }},  -- what people call it; unique in its tenant
    title text not null,
    status text not null default 'todo'
        check (status in ('backlog', 'todo', 'in_progress', 'in_review', 'blocked', 'done', 'cancelled')),
    {{ reference("assignee_agent_id", "agents") }},
    assignee_user_id text,
    {{ forward_reference("checkout_run_id", "runs") }},  -- the run that holds the issue
    waiting_for text,  -- a declared wait: approval, question, blocker, ...
    {{ time("wait_until") }},  -- when the wait ends; null with waiting_for: until it is cleared
    unblock_action text,  -- what a person has to do while the issue is blocked
    {{ time("started_at") }},
    {{ time("created_at") }} not null default {{ now_of_transaction }},
    {{ time("updated_at") }} not null default {{ now_of_transaction }},
    unique (identifier, tenant)
    {{ at_most("10,000 bytes of text", 10000, ["id", "tenant", "identifier", "title", "assignee_agent_id", "assignee_user_id", "checkout_run_id", "waiting_for"]) }}
){{ strict }};

-- Plans are ordered steps that an agent works through, or that a client pulls when the plan has no agent.
create table plans (
    {{ key }},
    {{ short_text("tenant", 200) }} not null default 'default',
    title text not null,
    status text not null default 'draft'
        check (status in ('draft', 'executing', 'stalled', 'completed', 'failed', 'cancelled')),
    {{ reference("agent_id", "agents") }},  -- null: a client pulls the steps, and nobody can be woken
    {{ reference("issue_id", "issues") }},  -- where an escalation is written
    {{ whole_number("stalled_after_seconds") }} check (stalled_after_seconds > 0),
    {{ time("created_at") }} not null default {{ now_of_transaction }},
    {{ time("updated_at") }} not null default {{ now_of_transaction }}
    {{ at_most("10,000 bytes of text", 10000, ["id", "tenant", "title", "agent_id", "issue_id"]) }}
){{ strict }};

create table plan_steps (
    {{ key }},
    {{ reference("plan_id", "plans") }} on delete cascade not null,
    {{ whole_number("position") }} not null,
    title text not null,
    status text not null default 'pending'
        check (status in ('pending', 'in_progress', 'completed', 'skipped', 'failed')),
    {{ whole_number("stalled_after_seconds") }} check (stalled_after_seconds > 0),
    {{ time("started_at") }},
    {{ time("updated_at") }} not null default {{ now_of_transaction }},
    unique (plan_id, position)
    {{ at_most("10,000 bytes of text", 10000, ["id", "plan_id", "title"]) }}
){{ strict }};

-- Wakes ask that an agent resume work, runs are the work.
create table wakes (
    {{ key }},
    {{ reference("agent_id", "agents") }} not null,
    {{ reference("issue_id", "issues") }},
    {{ reference("plan_step_id", "plan_steps") }},
    {{ short_text("reason", 10000) }} not null,
    {{ json("payload") }} not null default '{}',
    status text not null default 'queued'
        check (status in ('queued', 'deferred', 'claimed', 'completed', 'skipped', 'failed', 'cancelled')),
    {{ short_text("requested_by", 10000) }} not null,
    {{ time("created_at") }} not null default {{ now_of_transaction }},
    {{ time("updated_at") }} not null default {{ now_of_transaction }}
    {{ at_most("10,000 bytes of text", 10000, ["id", "agent_id", "issue_id", "plan_step_id", "reason", "requested_by"]) }}
){{ strict }};

-- The programs that run agents: a row for each start of one. Of the rows with one name the latest is at work; the programs of the others have ended.
create table workers (
    {{ key }},
    {{ short_text("name", 200) }} not null,
    {{ time("started_at") }} not null default {{ now_of_transaction }},
    {{ time("heartbeat_at") }}  -- a sign of life of each of its runs
){{ strict }};

create table runs (
    {{ key }},
    {{ reference("agent_id", "agents") }} not null,
    {{ reference("issue_id", "issues") }},
    {{ reference("plan_step_id", "plan_steps") }},
    {{ reference("wake_id", "wakes") }},  -- the wake that started it
    retry_reason text,  -- issue_continuation_needed: a continuation, by sweep or the host
    status text not null default 'queued'
        check (status in ('queued', 'scheduled_retry', 'running', 'succeeded', 'interrupted', 'failed', 'cancelled', 'timed_out')),
    {{ time("created_at") }} not null default {{ now_of_transaction }},
    {{ time("finished_at") }},
    {{ reference("worker_id", "workers") }},  -- the start of the program that runs it
    {{ time("heartbeat_at") }},  -- its last sign of life
    {{ short_text("lost", 200) }},  -- how it is known that nobody is at work on it any more; null: that is not known
    {{ whole_number("lease_seconds") }} check (lease_seconds > 0)  -- it is lost when no sign of life comes for so long; null: the policy says how long
    {{ at_most("10,000 bytes of text", 10000, ["id", "agent_id", "issue_id", "plan_step_id", "wake_id", "retry_reason", "worker_id", "lost"]) }}
){{ strict }};

-- A session is a process in which an agent works. Its supervisor, `sweep watch` or a host's own, keeps this row current and delivers
-- the commands that a sweep or a person writes.
create table sessions (
    {{ key }},
    {{ short_text("tenant", 200) }} not null default 'default',
    {{ short_text("identifier", 200) }} unique,  -- what people call it
    title text not null default '',  -- what runs in it
    directory text,  -- where it runs
    {{ reference("agent_id", "agents") }},  -- null: a person started it
    {{ reference("issue_id", "issues") }},  -- the issue that it works on, where an escalation is written
    status text not null default 'created'
        check (status in ('created', 'active', 'paused', 'terminated', 'interrupted')),
    {{ flag("stall_paused") }} not null default false,  -- sweeps leave the session alone
    {{ time("started_at") }},  -- when its present process was started
    {{ time("last_activity_at") }},  -- its last sign of life; null: started_at
    {{ time("last_progress_at") }},  -- its last step forward, no repetition; null: started_at
    last_tool text,
    recent_output text not null default '',  -- the last lines of its screen
    {{ whole_number("exit_code") }},  -- 128 + n after signal n; null: it runs, or nobody saw its end
    {{ time("ended_at") }},  -- null: its process runs
    {{ whole_number("silent_after_seconds") }} check (silent_after_seconds > 0),
    {{ flag("takes_nudges") }} not null default true,  -- may something be typed into it now?
    agent_state text check (agent_state in ('working', 'idle', 'waiting', 'exhausted')),  -- null: unknown
    agent_state_kind text,  -- what the agent waits for (permission, trust, login, ...) or has run out of
    {{ time("agent_state_since") }},
    agent_question text,  -- the words with which the agent asks a person
    agent_state_evidence text,  -- how the state is known
    {{ time("resumes_at") }},  -- when the agent's quota is filled again
    watcher text,  -- the settings of the watcher that examines the session, as JSON
    {{ time("created_at") }} not null default {{ now_of_transaction }},
    {{ time("updated_at") }} not null default {{ now_of_transaction }}
    {{ at_most("10,000 bytes of text", 10000, ["id", "tenant", "title", "identifier", "directory", "agent_id", "issue_id", "last_tool", "agent_state_kind", "agent_question", "agent_state_evidence", "watcher"]) }}
    {{ at_most("1,000,000 bytes of output", 1000000, ["recent_output"]) }}
){{ strict }};

create table session_commands (
    {{ key }},
    {{ reference("session_id", "sessions") }} on delete cascade not null,
    command text not null check (command in ('nudge', 'relaunch')),
    {{ short_text("message", 10000) }},  -- what a nudge types
    status text not null default 'queued' check (status in ('queued', 'delivered', 'failed')),
    {{ short_text("requested_by", 10000) }} not null,
    {{ time("created_at") }} not null default {{ now_of_transaction }},
    {{ time("updated_at") }} not null default {{ now_of_transaction }}
    {{ at_most("10,000 bytes of text", 10000, ["id", "session_id", "message", "requested_by"]) }}
){{ strict }};

-- The comments on issues, for people.
create table comments (
    {{ key }},
    {{ reference("issue_id", "issues") }} not null,
    author text not null,
    body text not null,
    {{ time("created_at") }} not null default {{ now_of_transaction }}
){{ strict }};

create table activity (
    {{ numbered_key }},
    actor text not null,
    action text not null,
    entity_type text not null,
    entity_id text not null,
    {{ json("details") }} not null default '{}',
    {{ time("created_at") }} not null default {{ now_of_transaction }}
){{ strict }};

-- Indexes for the candidates: the few rows in progress and in flight, in the order of the scan, however many are finished.
create index issues_in_progress on issues (updated_at, id, assignee_agent_id, tenant)
    where status = 'in_progress' and assignee_agent_id is not null and assignee_user_id is null;
create index plan_steps_in_progress on plan_steps (coalesce(started_at, updated_at), id) where status = 'in_progress';
create index issues_held on issues (checkout_run_id) where checkout_run_id is not null;
create index runs_live on runs (issue_id) where status in ('queued', 'scheduled_retry', 'running');
create index runs_live_by_step on runs (plan_step_id) where plan_step_id is not null and status in ('queued', 'scheduled_retry', 'running');
create index runs_live_by_wake on runs (wake_id, created_at desc, id) where wake_id is not null and status in ('queued', 'scheduled_retry', 'running');
create index runs_by_worker on runs (worker_id) where worker_id is not null and status in ('queued', 'scheduled_retry', 'running');
create index workers_by_name on workers (name, started_at);
create index wakes_pending on wakes (issue_id, created_at) where status in ('queued', 'deferred', 'claimed');
create index wakes_pending_by_step on wakes (plan_step_id, created_at) where plan_step_id is not null and status in ('queued', 'deferred', 'claimed');
create index sessions_active on sessions (issue_id, id) where status = 'active';
create index sessions_live on sessions (issue_id, tenant, agent_id, started_at, id) where status = 'active' and ended_at is null;
create index sessions_ended on sessions (issue_id, tenant, agent_id, ended_at) where status = 'active' and ended_at is not null;
create index sessions_paused on sessions (issue_id) where status = 'paused';
create index session_commands_queued on session_commands (session_id, created_at) where status = 'queued';

-- Indexes for the facts and the history of one subject.
create index plans_by_issue on plans (issue_id, tenant, {{ plan_order() }});
create index plan_steps_by_plan on plan_steps (plan_id, {{ step_order() }});
create index runs_by_issue on runs (issue_id, created_at desc, id);
create index runs_by_step on runs (plan_step_id, created_at);
create index runs_by_wake on runs (wake_id, created_at desc, id);
create index runs_of_wakes on runs (created_at) where wake_id is not null;
create index wakes_by_step on wakes (plan_step_id, created_at);
create index sessions_by_issue on sessions (issue_id, created_at);
create index session_commands_by_session on session_commands (session_id, created_at);
create index session_relaunches on session_commands (session_id, created_at) where command = 'relaunch';
create index comments_by_issue on comments (issue_id, created_at);
create index activity_by_entity on activity (entity_type, entity_id);

-- The runs of each issue and step that have not ended. A run of a plan's step is one of the plan's issue, too.
create view subject_runs as
{%- set live = "r.status in ('queued', 'scheduled_retry', 'running')" %}
select 'issue' as kind, r.issue_id as subject_id, r.id from runs r where r.issue_id is not null and {{ live }}
union all
select 'issue', i.id, r.id from issues i join runs r on r.id = i.checkout_run_id where {{ live }}
union all
select 'issue', w.issue_id, r.id from wakes w join runs r on r.wake_id = w.id
where w.issue_id is not null and w.status in ('queued', 'deferred', 'claimed') and {{ live }}
{%- for kind, subject, from in [("step", "s.id", "plan_steps s"),
                                ("issue", "i.id", "issues i join plans p on p.issue_id = i.id and p.tenant = i.tenant join plan_steps s on s.plan_id = p.id")] %}
union all
select '{{ kind }}', {{ subject }}, r.id from {{ from }} join runs r on r.plan_step_id = s.id where {{ live }}
union all
select '{{ kind }}', {{ subject }}, r.id from {{ from }} join wakes w on w.plan_step_id = s.id join runs r on r.wake_id = w.id where {{ live }}
{%- endfor %};

-- The starts of workers that are over, since a later one has begun. A start in the future is a clock's mistake.
create view former_workers as
select w.id from workers w
where exists (select 1 from workers n where n.name = w.name and n.started_at > w.started_at and n.started_at <= {{ at_statement }});

-- The watchers that examine sessions besides sweeps.
create view session_watchers as
select id as subject_id, watcher, updated_at as heard_of_at from sessions where status = 'active' and watcher is not null;

-- The constants of this host: one row.
create view host_behavior as
select cast(0.5 as {{ number }}) as run_end_grace_seconds,  -- how long the host has to say what follows the end of a run
       'set it to in progress or todo' as resume_advice;  -- how a person resumes a blocked issue
