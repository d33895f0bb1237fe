create or replace function log_recovery() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    insert into public.activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id, details)
    select i.company_id, 'system', 'sweep', new.kind || '.' || new.action, new.kind, i.id::text,
           jsonb_build_object('reason', new.reason, 'attempt', new.attempt, 'wakeId', new.wake_id)
    from public.issues i where i.id = new.subject_id;
    return null;
end $$;

drop view session_facts;
drop view session_subjects;
drop view session_candidates;
drop view unattended_sessions;
drop view running_sessions;
drop view sessions;
drop function refuse_update;
drop function as_id;
