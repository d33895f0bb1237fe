-- Notifies a daemon that listens when a flow run has ended. This trigger is all that sweep puts on a table of Prefect's, and only
-- `sweep migrate --with-listen` makes it.

-- The trigger must never make the host's own update fail: it swallows errors.
create function notify_of_run_end() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', new.id::text);
    return null;
exception when others then
    return null;
end $$;
-- The host's own updates wait behind this statement while it waits for its lock.
set local lock_timeout = '2s';
create trigger sweep_run_ended after update of state_type on public.flow_run for each row
when (new.state_type in ('COMPLETED', 'FAILED', 'CRASHED', 'CANCELLED') and new.state_type is distinct from old.state_type)
execute function notify_of_run_end();
revoke execute on function notify_of_run_end from public;
