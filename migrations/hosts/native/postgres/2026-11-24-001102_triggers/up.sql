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

-- What is continued or escalated has no live run: those whose status still says that they are live are lost. They are closed in the same
-- transaction, so that an old process that lives after all finds its run taken. A sweep locks all runs of a subject before it reads its facts, and
-- gives way if somebody holds one: a sign of life that came before the lock is seen, and one that comes after it waits and finds its run taken.
-- The trigger asks for the evidence once more: a run may have begun since, and a row of the ledger alone ends no run.
create view run_locks as select id from runs;

create function lock_runs(of_kind text, of_subject uuid) returns boolean language plpgsql as $$
declare
    locked bigint;
begin
    perform from run_locks where id in (select s.id from subject_runs s where s.kind = of_kind and s.subject_id = of_subject)
    for no key update skip locked;
    get diagnostics locked = row_count;
    return locked = (select count(distinct s.id) from subject_runs s where s.kind = of_kind and s.subject_id = of_subject);
end $$;
comment on function lock_runs is 'called by sweeps';

create function close_lost_runs() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    update runs set status = 'interrupted', finished_at = clock_timestamp()
    where id in (select r.id from subject_runs s join observed_runs r on r.id = s.id
                 where s.kind = new.kind and s.subject_id = new.subject_id
                   and (r.lost is not null
                        or r.lease_seconds is null and r.heartbeat_at < statement_timestamp() - make_interval(secs => coalesce(
                            (select (s.policy ->> 'run_silent_after_seconds')::double precision from sweeps s where s.id = new.sweep_id),
                            (select p.run_silent_after_seconds from policy p)))));
    return null;
end $$;
create trigger close_lost_runs after insert on recoveries for each row
when (new.kind in ('issue', 'step') and new.action in ('continue', 'escalate')) execute function close_lost_runs();

-- A sign of life of a worker is one of each of its runs, unless these have shown a later one.
create function pass_on_heartbeat() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    update runs set heartbeat_at = new.heartbeat_at
    where worker_id = new.id and status in ('queued', 'scheduled_retry', 'running') and (heartbeat_at < new.heartbeat_at) is not false;
    return null;
end $$;
create trigger pass_on_heartbeat after update of heartbeat_at on workers for each row when (new.heartbeat_at is not null)
execute function pass_on_heartbeat();

-- Notifies a daemon that listens when a run of an issue or a step has ended, or is lost.
create function notify_of_run_end() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', id::text) from unnest(array[new.issue_id, new.plan_step_id]) id where id is not null;
    return null;
end $$;
create trigger notify_of_run_end after update of status, lost on runs for each row
when (coalesce(new.issue_id, new.plan_step_id) is not null
      and old.status in ('queued', 'scheduled_retry', 'running')
      and (new.status not in ('queued', 'scheduled_retry', 'running') or old.lost is null and new.lost is not null))
execute function notify_of_run_end();

-- When a worker starts again, all runs of its earlier starts are lost.
create function notify_of_lost_runs() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    perform pg_notify('sweep_run_ended', subject::text)
    from workers w join runs r on r.worker_id = w.id, unnest(array[r.issue_id, r.plan_step_id]) subject
    where w.name = new.name and w.started_at < new.started_at and r.status in ('queued', 'scheduled_retry', 'running') and subject is not null;
    return null;
end $$;
create trigger notify_of_lost_runs after insert on workers for each row execute function notify_of_lost_runs();

-- Without this, anybody could put one of these functions on a table of their own.
revoke execute on function log_recovery, lock_runs, close_lost_runs, pass_on_heartbeat, notify_of_run_end, notify_of_lost_runs from public;
