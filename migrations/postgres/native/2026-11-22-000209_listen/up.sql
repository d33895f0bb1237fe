-- That a run of an issue has ended is told at once to a daemon that listens.

create function tell_of_run_end() returns trigger language plpgsql set search_path = sweep as $$
begin
    perform pg_notify('sweep_run_ended', new.issue_id::text);
    return null;
end $$;

create trigger tell_of_run_end after update of status on runs for each row
when (new.issue_id is not null
      and old.status in ('queued', 'scheduled_retry', 'running')
      and new.status not in ('queued', 'scheduled_retry', 'running'))
execute function tell_of_run_end();
