-- Paperclip's agents, issues and comments under sweep's names. The triggers sit on these views, never on a host's table.
-- They run with their owner's rights, like the views: whoever runs sweep needs no right on the host's tables.

create view agents as
select id, company_id, name, status from public.agents;

create view issues as
select id, company_id, identifier, title, status, assignee_agent_id, updated_at from public.issues;

create function update_issue() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update public.issues set status = new.status, updated_at = new.updated_at where id = old.id and status = old.status;
    if not found then
        return null;
    end if;
    -- An issue that is blocked while a run still holds it would be taken up again, or never be released.
    if new.status = 'blocked' then
        update public.issues
        set checkout_run_id = null, execution_run_id = null, execution_agent_name_key = null, execution_locked_at = null,
            blocked_transition_at = clock_timestamp()
        where id = old.id;
    end if;
    return new;
end $$;
create trigger update_issue instead of update on issues for each row execute function update_issue();

create view comments as
select id, issue_id, coalesce(author_agent_id::text, author_user_id, author_type) as author, body, created_at
from public.issue_comments;

create function insert_comment() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    insert into public.issue_comments (id, company_id, issue_id, author_type, body)
    select coalesce(new.id, gen_random_uuid()), i.company_id, i.id, 'system', new.body
    from public.issues i where i.id = new.issue_id;
    return case when found then new end;
end $$;
create trigger insert_comment instead of insert on comments for each row execute function insert_comment();

-- The host's own activity log shows what the ledger holds.
create function log_recovery() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    insert into public.activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id, details)
    select i.company_id, 'system', 'sweep', new.kind || '.' || new.action, new.kind, i.id::text,
           jsonb_build_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id)
    from public.issues i where i.id = new.subject_id;
    return null;
end $$;
create trigger log_recovery after insert on recoveries for each row execute function log_recovery();

-- Else anybody could put one of them on a table of his own, and write to the host with its owner's rights.
revoke execute on function update_issue, insert_comment, log_recovery from public;
