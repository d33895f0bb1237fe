-- That a run has ended is passed at once to a daemon that listens. The one thing of sweep's on a table of Paperclip's: it is there only
-- for who asks for it, by `sweep migrate --with-listen`.

-- It must never make the host's own update fail: what is too long for a notification is not sent, and an error is swallowed.
create function notify_of_run_end() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', new.context_snapshot ->> 'issueId');
    return null;
exception when others then
    return null;
end $$;
-- Whoever waits for this lock has the host's own updates wait behind it.
set local lock_timeout = '2s';
-- The cheap questions first: a snapshot may be large, and is read for a run that ends alone.
create trigger sweep_run_ended after update of status on public.heartbeat_runs for each row
when (old.status in ('queued', 'scheduled_retry', 'running')
      and new.status not in ('queued', 'scheduled_retry', 'running')
      and length(new.context_snapshot ->> 'issueId') = 36)
execute function notify_of_run_end();
revoke execute on function notify_of_run_end from public;
