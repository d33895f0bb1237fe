-- Copies each row of the ledger into the host's activity log: decisions.md#the-activity-log
create trigger log_recovery after insert on recoveries begin
    insert into activity (actor, action, entity_type, entity_id, details)
    values ('sweep', new.kind || '.' || new.action, new.kind, new.subject_id,
            json_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id));
end;

-- What is continued or escalated has no live run: those whose status still says that they are live are lost. They are closed in the same
-- transaction, so that an old process that lives after all finds its run taken. A row of the ledger alone ends no run: the trigger asks for the
-- evidence.
create trigger close_lost_runs after insert on recoveries when new.kind in ('issue', 'step') and new.action in ('continue', 'escalate') begin
    update runs set status = 'interrupted', finished_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now')
    where id in (select r.id from subject_runs s join observed_runs r on r.id = s.id
                 where s.kind = new.kind and s.subject_id = new.subject_id
                   and (r.lost is not null
                        or r.lease_seconds is null
                           and r.heartbeat_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', printf('-%f seconds', coalesce(
                               (select json_extract(s.policy, '$.run_silent_after_seconds') from sweeps s where s.id = new.sweep_id),
                               (select p.run_silent_after_seconds from policy p))))));
end;

-- A sign of life of a worker is one of each of its runs, unless these have shown a later one.
create trigger pass_on_heartbeat after update of heartbeat_at on workers when new.heartbeat_at is not null begin
    update runs set heartbeat_at = new.heartbeat_at
    where worker_id = new.id and status in ('queued', 'scheduled_retry', 'running') and (heartbeat_at < new.heartbeat_at) is not false;
end;

-- Notes for a daemon that listens when a run of an issue or a step has ended, or is lost: the latest thousand ends.
create table run_ends (id integer primary key, subject_id text not null) strict;
create trigger note_run_end after update of status, lost on runs
when old.status in ('queued', 'scheduled_retry', 'running')
     and (new.status not in ('queued', 'scheduled_retry', 'running') or old.lost is null and new.lost is not null) begin
    insert into run_ends (subject_id)
    select new.issue_id where new.issue_id is not null union all select new.plan_step_id where new.plan_step_id is not null;
    delete from run_ends where id <= (select max(id) from run_ends) - 1000;
end;
-- When a worker starts again, all runs of its earlier starts are lost.
create trigger note_lost_runs after insert on workers begin
    insert into run_ends (subject_id)
    select id.value from workers w join runs r on r.worker_id = w.id, json_each(json_array(r.issue_id, r.plan_step_id)) id
    where w.name = new.name and w.started_at < new.started_at and r.status in ('queued', 'scheduled_retry', 'running') and id.value is not null;
    delete from run_ends where id <= (select max(id) from run_ends) - 1000;
end;
