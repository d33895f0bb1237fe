alter table issues add foreign key (checkout_run_id) references runs;

-- Copies each row of the ledger into the host's activity log: decisions.md#the-activity-log
create function log_recovery() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    insert into activity (actor, action, entity_type, entity_id, details)
    values ('sweep', new.kind || '.' || new.action, new.kind, new.subject_id::text,
            jsonb_build_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id));
    return null;
end $$;
create trigger log_recovery after insert on recoveries for each row execute function log_recovery();

-- Notifies a daemon that listens when a run of an issue has ended.
create function notify_of_run_end() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', new.issue_id::text);
    return null;
end $$;
create trigger notify_of_run_end after update of status on runs for each row
when (new.issue_id is not null
      and old.status in ('queued', 'scheduled_retry', 'running')
      and new.status not in ('queued', 'scheduled_retry', 'running'))
execute function notify_of_run_end();

-- Without this, anybody could put one of these functions on a table of their own.
revoke execute on function log_recovery, notify_of_run_end from public;
