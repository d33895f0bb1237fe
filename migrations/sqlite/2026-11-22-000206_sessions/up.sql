-- A session is a process in which an agent works, and its supervisor keeps this row current: `sweep watch`, or a host's own.
-- Whoever finds it stuck writes a command, and the supervisor delivers it.

create table sessions (
    id                   text not null primary key,
    tenant               text not null default 'default',
    identifier           text unique,                 -- what people call it
    title                text not null default '',    -- what runs in it
    agent_id             text references agents,      -- null: whoever started it
    issue_id             text references issues,      -- what it works on, and where an escalation is written
    status               text not null default 'created'
                         check (status in ('created', 'active', 'paused', 'terminated', 'interrupted')),
    stall_paused         integer not null default 0 check (stall_paused in (0, 1)),  -- nobody may disturb it
    started_at           text check (started_at like '____-__-__T__:__:__.___Z'),    -- of its present process
    last_activity_at     text check (last_activity_at like '____-__-__T__:__:__.___Z'),  -- any sign of life; null: as started_at
    last_progress_at     text check (last_progress_at like '____-__-__T__:__:__.___Z'),  -- a step forward, no repetition; null: as started_at
    last_tool            text,
    recent_output        text not null default '',    -- the last 20 lines
    exit_code            integer,                     -- null: it runs, or was ended by a signal
    ended_at             text check (ended_at like '____-__-__T__:__:__.___Z'),      -- null: its process runs
    silent_after_seconds integer check (silent_after_seconds > 0),
    created_at           text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z'),
    updated_at           text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at like '____-__-__T__:__:__.___Z')
) strict;

create table session_commands (
    id           text not null primary key,
    session_id   text not null references sessions on delete cascade,
    command      text not null check (command in ('nudge', 'relaunch')),
    message      text,                                -- what a nudge types
    status       text not null default 'queued' check (status in ('queued', 'delivered', 'failed')),
    requested_by text not null,
    created_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (created_at like '____-__-__T__:__:__.___Z'),
    updated_at   text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) check (updated_at like '____-__-__T__:__:__.___Z')
) strict;

-- What the candidates and the facts of their issues need: the few sessions at work.
create index sessions_active on sessions (issue_id, id) where status = 'active';
create index sessions_paused on sessions (issue_id) where status = 'paused';
create index sessions_by_issue on sessions (issue_id, created_at);
create index session_commands_queued on session_commands (session_id, created_at) where status = 'queued';
create index session_commands_by_session on session_commands (session_id, created_at);
