-- Paperclip's agents, issues, comments and runs under the names by which sweep locks and writes them. The triggers sit on these views,
-- never on a host's table. Views and triggers run with their owner's rights: the role of a sweep needs no right on the host's tables.

-- Brings times into years that clients can decode: PostgreSQL has infinity, too. Both ends keep their meaning: long ago, and not yet.
create function within_calendar(moment timestamptz) returns timestamptz language sql immutable
return case when moment < timestamptz '0001-01-01 00:00Z' then timestamptz '0001-01-01 00:00Z'
            when moment > timestamptz '9999-12-31 00:00Z' then timestamptz '9999-12-31 00:00Z'
            else moment end;

-- Casts an id from JSON, if it is written as PostgreSQL prints it, so that the key's index serves. Null for any other text.
create function as_id(words text) returns uuid language sql immutable
return case when words ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then words::uuid end;

-- True if a document is not to be read. To read a part of it, PostgreSQL unpacks the whole, to a hundred times this size: too much
-- to do for every live run and wake of every company within one statement's time.
create function is_too_large(document jsonb) returns boolean language sql stable
return coalesce(pg_column_size(document) > 100000, false);

-- True if a table has a column that older releases lack. A function plans a statement only when it is reached, so one may name the column.
create function has_column(host_table text, column_name text) returns boolean language sql stable
return exists (select from pg_attribute where attrelid = to_regclass(host_table) and attname = column_name and not attisdropped);

comment on function within_calendar is 'called by views';
comment on function as_id is 'called by views';
comment on function is_too_large is 'called by views';

-- The constants of this host: one row. A few seconds after the end of a run the server queues what follows, and does not look whether
-- somebody else has queued something.
create view host_behavior as
select 15::float8 as run_end_grace_seconds,           -- how long the host has to say what follows the end of a run
       'write a comment, assign somebody else or set it to todo: its agent goes on within seconds. Setting it to in progress wakes nobody'
           as resume_advice;

create view agents as
select id, company_id, name, status from public.agents;

-- The least lag of the server's clock behind the database's, seen in each agent's latest runs of a day: the database dates the creation of
-- a run, the server its beginning, which is later. Rows in the future do not count, and ten minutes is the most.
create view agent_clocks as
select a.id as agent_id,
       least(greatest(extract(epoch from max(latest.created_at - within_calendar(latest.started_at))), 0), 600)::float8 as behind_seconds
from public.agents a
left join lateral (
    select r.created_at, r.started_at from public.heartbeat_runs r
    where r.company_id = a.company_id and r.agent_id = a.id and r.started_at is not null
    order by r.started_at desc limit 5
) latest on latest.created_at between statement_timestamp() - interval '1 day' and statement_timestamp()
group by a.id;

-- The lag of the server's clock, seen in the runs of the agents that worked last.
create view host_clock as
select coalesce(max(c.behind_seconds), 0) as behind_seconds
from (select id from public.agents where last_heartbeat_at is not null order by last_heartbeat_at desc limit 100) a
join agent_clocks c on c.agent_id = a.id;

-- Paperclip's issues. The column unblock_action is only written, by the trigger below.
create view issues as
select id, company_id, company_id::text as tenant, identifier, title, status, assignee_agent_id, null::text as unblock_action, updated_at
from public.issues;

-- The issues that sweep does not resume, and where a comment would reach nobody, each with the reason.
create view issue_exclusions as
select i.id as issue_id,
       case when i.hidden_at is not null or i.harness_kind is not null then 'hidden'
            -- The next branch reads all texts of the issue, in each sweep.
            when octet_length(i.title) + coalesce(octet_length(i.description), 0) > 10000000 then 'too large to look at'
            -- Reads the column by name, since older releases lack it. Only messages move a conversation, which is never finished.
            when to_jsonb(i) ->> 'conversation_agent_id' is not null then 'a conversation' end as reason
from public.issues i;

create function update_issue() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update public.issues set status = new.status, updated_at = new.updated_at where id = old.id and status = old.status;
    if not found then
        return null;
    end if;
    -- The server would take up again, or never release, a blocked issue that a run still holds.
    if new.status = 'blocked' then
        update public.issues
        set checkout_run_id = null, execution_run_id = null, execution_agent_name_key = null, execution_locked_at = null
        where id = old.id;
        -- With the descriptor and the time, the board's inbox says what a person has to do. Releases before 2026.817 have neither.
        if has_column('public.issues', 'unblock_descriptor') then
            update public.issues
            set blocked_transition_at = clock_timestamp(),
                unblock_descriptor = case when btrim(new.unblock_action) <> ''
                    then jsonb_build_object('owner', 'board', 'action', left(btrim(new.unblock_action), 2000)) end
            where id = old.id;
        end if;
    end if;
    return new;
-- The detail of this error would show the host's whole row to a role that may not read it.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger update_issue instead of update on issues for each row execute function update_issue();

create view comments as
select id, issue_id, coalesce(author_agent_id::text, author_user_id, author_type) as author, body, created_at
from public.issue_comments;

create function insert_comment() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    -- The presentation of the server's own notices. The server reads no comment whose presentation has a key that it does not know.
    insert into public.issue_comments (id, company_id, issue_id, author_type, body, presentation)
    select coalesce(new.id, gen_random_uuid()), i.company_id, i.id, 'system', new.body,
           '{"kind": "system_notice", "tone": "danger", "title": "sweep: this needs a person", "detailsDefaultOpen": false}'
    from public.issues i where i.id = new.issue_id;
    return case when found then new end;
end $$;
create trigger insert_comment instead of insert on comments for each row execute function insert_comment();

-- Paperclip's running runs as sessions. The server drives the process, so the session takes no commands, and a sweep can only tell
-- people that it fell silent. Queued and scheduled runs have no process yet.
-- The view joins no other table, so that a lock of a session locks its run and nothing else. Everything that the server writes about a run
-- is a sign of life.
create view sessions as
select r.id, r.company_id, r.agent_id,
       (select i.id from public.issues i where i.id = as_id(r.context_snapshot ->> 'issueId') and i.company_id = r.company_id) as issue_id,
       r.status as run_status,
       case r.status when 'running' then 'active' when 'active' then 'unknown' else r.status end as status,
       within_calendar(greatest(r.created_at, r.started_at, r.last_output_at, r.updated_at)) as last_sign_at
from public.heartbeat_runs r;

-- Refuses every update of a session: sweep has the right only to lock the row, and the run belongs to its server.
create function refuse_update() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    raise exception 'run % is its server''s: sweep only locks it', old.id;
end $$;
create trigger refuse_update instead of update on sessions for each row execute function refuse_update();

-- Copies each row of the ledger into the host's activity log, where a session is a run. decisions.md#the-activity-log
create function log_recovery() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    insert into public.activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id, details)
    select subject.company_id, 'system', 'sweep', new.kind || '.' || new.action, subject.entity_type, new.subject_id::text,
           jsonb_build_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id) || subject.details
    from (
        select i.company_id, 'issue' as entity_type, '{}'::jsonb as details
        from public.issues i where new.kind = 'issue' and i.id = new.subject_id
        union all
        select s.company_id, 'heartbeat_run', jsonb_build_object('issueId', s.issue_id)
        from sessions s where new.kind = 'session' and s.id = new.subject_id
    ) subject;
    return null;
end $$;
create trigger log_recovery after insert on recoveries for each row execute function log_recovery();

-- Without this, anybody could put a trigger function on a table of their own, and write to the host with its owner's rights.
revoke execute on function within_calendar, as_id, is_too_large, has_column, update_issue, insert_comment, refuse_update, log_recovery from public;
