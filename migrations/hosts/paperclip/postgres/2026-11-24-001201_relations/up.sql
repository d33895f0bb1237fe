-- Paperclip's agents, issues, comments and runs under the names by which sweep locks and writes them. The triggers sit on these views,
-- never on a host's table. They run with their owner's rights, like the views: whoever runs sweep needs no right on the host's tables.

-- Postgres knows infinity and years that no client can decode. Both ends stay what they mean: long ago, and not yet.
create function within_calendar(moment timestamptz) returns timestamptz language sql immutable
return case when moment < timestamptz '0001-01-01 00:00Z' then timestamptz '0001-01-01 00:00Z'
            when moment > timestamptz '9999-12-31 00:00Z' then timestamptz '9999-12-31 00:00Z'
            else moment end;

-- What JSON names as an id, if it is one as Postgres prints it: a comparison as text, for which the key's index serves.
create function as_id(words text) returns uuid language sql immutable
return case when words ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then words::uuid end;

-- A document of which a part is asked is unpacked wholly. So much may be a hundred times as much, and not every live run's and
-- wake's of every company could be unpacked in the time of one statement.
create function is_too_large(document jsonb) returns boolean language sql stable
return coalesce(pg_column_size(document) > 100000, false);

-- Older releases lack some columns. A statement of a function that names one is planned only when it is reached.
create function has_column(host_table text, column_name text) returns boolean language sql stable
return exists (select from pg_attribute where attrelid = to_regclass(host_table) and attname = column_name and not attisdropped);

comment on function within_calendar is 'called by views';
comment on function as_id is 'called by views';
comment on function is_too_large is 'called by views';

-- What all of this host's facts go by, and what people are advised to do: one row. A few seconds after the end of a run its server
-- queues what follows, and does not look whether somebody else has queued something.
create view host_behavior as
select 15::float8 as run_end_grace_seconds,           -- after the end of a run its host has so long to say what follows
       'write a comment, assign somebody else or set it to todo: its agent goes on within seconds. Setting it to in progress wakes nobody'
           as resume_advice;

create view agents as
select id, company_id, name, status from public.agents;

-- By how much the server's clock is at least behind the database's: a run is created by the one's time, and begins later, by the other's.
-- An agent's latest runs of a day say so. A row of the future says nothing, and nobody is waited for longer than ten minutes more.
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

-- By those agents that worked last.
create view host_clock as
select coalesce(max(c.behind_seconds), 0) as behind_seconds
from (select id from public.agents where last_heartbeat_at is not null order by last_heartbeat_at desc limit 100) a
join agent_clocks c on c.agent_id = a.id;

-- What a person has to do is written, by the trigger below, and never read.
create view issues as
select id, company_id, company_id::text as tenant, identifier, title, status, assignee_agent_id, null::text as unblock_action, updated_at
from public.issues;

-- Why an issue is none that sweep resumes, and where a comment would reach nobody.
create view issue_exclusions as
select i.id as issue_id,
       case when i.hidden_at is not null or i.harness_kind is not null then 'hidden'
            -- What follows would read all of its texts, for each sweep anew.
            when octet_length(i.title) + coalesce(octet_length(i.description), 0) > 10000000 then 'too large to look at'
            -- By name, as older releases lack the column. A conversation is never finished and is moved by messages alone.
            when to_jsonb(i) ->> 'conversation_agent_id' is not null then 'a conversation' end as reason
from public.issues i;

create function update_issue() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update public.issues set status = new.status, updated_at = new.updated_at where id = old.id and status = old.status;
    if not found then
        return null;
    end if;
    -- An issue that is blocked while a run still holds it would be taken up again, or never be released.
    if new.status = 'blocked' then
        update public.issues
        set checkout_run_id = null, execution_run_id = null, execution_agent_name_key = null, execution_locked_at = null
        where id = old.id;
        -- The board's inbox says what is to be done if the descriptor and the time are there. Releases before 2026.817 have neither.
        if has_column('public.issues', 'unblock_descriptor') then
            update public.issues
            set blocked_transition_at = clock_timestamp(),
                unblock_descriptor = case when btrim(new.unblock_action) <> ''
                    then jsonb_build_object('owner', 'board', 'action', left(btrim(new.unblock_action), 2000)) end
            where id = old.id;
        end if;
    end if;
    return new;
-- The detail of such an error is the host's whole row, which whoever writes may not read.
exception when integrity_constraint_violation then
    raise exception using message = sqlerrm, errcode = sqlstate;
end $$;
create trigger update_issue instead of update on issues for each row execute function update_issue();

create view comments as
select id, issue_id, coalesce(author_agent_id::text, author_user_id, author_type) as author, body, created_at
from public.issue_comments;

create function insert_comment() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    -- As the server's own notices are shown; it reads no comment whose presentation has a key that it does not know.
    insert into public.issue_comments (id, company_id, issue_id, author_type, body, presentation)
    select coalesce(new.id, gen_random_uuid()), i.company_id, i.id, 'system', new.body,
           '{"kind": "system_notice", "tone": "danger", "title": "sweep: this needs a person", "detailsDefaultOpen": false}'
    from public.issues i where i.id = new.issue_id;
    return case when found then new end;
end $$;
create trigger insert_comment instead of insert on comments for each row execute function insert_comment();

-- A run that is running is a session: its server drives the process, so it takes no commands, and a sweep can only tell people
-- that it fell silent. Queued and scheduled runs have no process yet.
-- One table and no join, so that a lock of a session is a lock of its run and of nothing else. Anything that the server writes
-- about a run is a sign of life.
create view sessions as
select r.id, r.company_id, r.agent_id,
       (select i.id from public.issues i where i.id = as_id(r.context_snapshot ->> 'issueId') and i.company_id = r.company_id) as issue_id,
       r.status as run_status,
       case r.status when 'running' then 'active' when 'active' then 'unknown' else r.status end as status,
       within_calendar(greatest(r.created_at, r.started_at, r.last_output_at, r.updated_at)) as last_sign_at
from public.heartbeat_runs r;

-- The right to lock a row is the right to update it; but a run is its server's.
create function refuse_update() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    raise exception 'run % is its server''s: sweep only locks it', old.id;
end $$;
create trigger refuse_update instead of update on sessions for each row execute function refuse_update();

-- The host's own activity log shows what the ledger holds, and calls a session what the host calls it.
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

-- Else anybody could put a trigger function on a table of his own, and write to the host with its owner's rights.
revoke execute on function within_calendar, as_id, is_too_large, has_column, update_issue, insert_comment, refuse_update, log_recovery from public;
