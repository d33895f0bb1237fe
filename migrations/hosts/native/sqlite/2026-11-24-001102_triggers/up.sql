-- The host's own activity log shows what the ledger holds.
create trigger log_recovery after insert on recoveries begin
    insert into activity (actor, action, entity_type, entity_id, details)
    values ('sweep', new.kind || '.' || new.action, new.kind, new.subject_id,
            json_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id));
end;
