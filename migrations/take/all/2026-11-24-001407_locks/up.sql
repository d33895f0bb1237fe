-- To lock a row, a role needs the right to update one of its columns, and is given that on the id. An update by this right could
-- rename the row, and a host's trigger may write more. So only a table's owner may make an update that changes the id, or nothing.
create function refuse_mere_update() returns trigger language plpgsql set search_path = sweep, pg_temp as $$
begin
    if new.id = old.id and new *<> old
       or (select relkind <> 'v' and pg_has_role(current_user, relowner, 'usage') from pg_class where oid = tg_relid) then
        return new;
    end if;
    raise exception 'this right on % is there to lock the row %', tg_table_name, old.id using errcode = 'insufficient_privilege';
end $$;
revoke execute on function refuse_mere_update from public;

-- Triggers run in the order of their names, and this name begins with the first printable sign. A host's view without a trigger for updates
-- is updated without this one; the views agents and run_locks are never updated.
do $$
declare
    name text;
    kind "char";
begin
    for name, kind in
        select relname, relkind from pg_class c
        where relnamespace = 'sweep'::regnamespace
          and (relkind in ('r', 'p') and relname in ('agents', 'issues', 'plan_steps', 'sessions')
               or relkind = 'v' and (relname in ('agents', 'run_locks') or relname in ('issues', 'plan_steps', 'sessions') and exists (
                   select from pg_trigger where tgrelid = c.oid and tgtype & 16 > 0)))
    loop
        execute case when kind = 'v'
            then format('create trigger "!a_lock_is_no_update" instead of update on %I for each row execute function refuse_mere_update()', name)
            else format('create trigger "!a_lock_is_no_update" before update of id on %I for each row when (new.id is distinct from old.id) '
                        'execute function refuse_mere_update()', name) end;
    end loop;
end $$;
