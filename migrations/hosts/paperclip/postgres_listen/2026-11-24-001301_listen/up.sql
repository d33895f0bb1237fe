-- Notifies a daemon that listens when a run has ended. This trigger is all that sweep puts on a table of Paperclip's, and only
-- `sweep migrate --with-listen` makes it.

-- The trigger must never make the host's own update fail: it sends no notification that is too long, and swallows errors.
create function notify_of_run_end() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', new.context_snapshot ->> 'issueId');
    return null;
exception when others then
    return null;
end $$;
-- The host's own updates wait behind this statement while it waits for its lock.
set local lock_timeout = '2s';
-- The cheap questions come first: a snapshot may be large, and is read only when a run ends.
create trigger sweep_run_ended after update of status on public.heartbeat_runs for each row
when (old.status in ('queued', 'scheduled_retry', 'running')
      and new.status not in ('queued', 'scheduled_retry', 'running')
      and length(new.context_snapshot ->> 'issueId') = 36)
execute function notify_of_run_end();
revoke execute on function notify_of_run_end from public;
