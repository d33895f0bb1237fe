-- Who owns a relation of the schema sweep, or a function, may have it run something of his own, with the rights of the role that
-- migrates; and so may the owner of anything that sweep's tables or their triggers use, and a role that may put a trigger or a key
-- there. So all of it must belong to a role that is trusted, nobody else may add to it, and of the ledger nobody else may write
-- what deploy/postgres/role.sql lets nobody write. One sentence about the first thing that is otherwise; no row when all is well.
here as (
    select oid, nspowner, nspacl from pg_namespace where nspname = 'sweep'
), relations as (
    select c.* from pg_class c join here on relnamespace = here.oid
), roots (class, id) as (
    select 'pg_class'::regclass::oid, oid from relations where relkind in ('r', 'p')
    union all
    select 'pg_trigger'::regclass, t.oid from pg_trigger t join relations r on r.oid = tgrelid
    union all
    select 'pg_event_trigger'::regclass, oid from pg_event_trigger
), things (place, class, id, owner, used_by) as (
    select 1, 'pg_namespace'::regclass::oid, oid, nspowner, null from here
    where nspowner not in (select role from trusted) or not pg_has_role(
        session_user, nspowner, case when current_setting('server_version_num')::int < 160000 then 'member' else 'set' end)
    union all
    select 2, class, id, owner, null from foreign_owned join pg_depend on classid = class and objid = id
    join here on refclassid = 'pg_namespace'::regclass and refobjid = here.oid
    union all
    select 3, class, id, owner, used_by from foreign_owned join uses using (class, id)
), ledger (relation, writes) as (
    values ('host', ''), ('__diesel_schema_migrations', ''), ('recoveries', 'INSERT'), ('recoveries.settled_at', 'UPDATE'),
           ('sweeps', 'INSERT UPDATE'), ('policy', 'INSERT UPDATE'), ('failures', 'INSERT UPDATE'), ('notifications', 'INSERT UPDATE'),
           ('ledger_days', 'INSERT UPDATE'), ('upkeep', 'UPDATE'),
           ('exemptions', 'INSERT UPDATE DELETE'), ('tenant_exemptions', 'INSERT UPDATE DELETE')
), written_views (relation) as (
    -- A host's work stands in views that are written to, or locked; all other views are there to be read.
    values ('plans'), ('plan_steps'), ('agents'), ('issues'), ('sessions'), ('wakes'), ('session_commands'), ('comments'), ('activity'), ('run_locks')
), writers (role) as (
    select 'pg_write_all_data'::regrole::oid union select member from pg_auth_members join writers on roleid = role
), grants (what, privilege, grantee) as (
    select 'sweep.' || relname, privilege, grantee from foreign_rights join relations r on r.oid = relation
    where privilege in ('TRIGGER', 'TRUNCATE', 'REFERENCES', 'MAINTAIN')
       -- Everybody is none of that file's roles. Of a host's own table in this schema its owner says what others may write.
       or privilege in ('INSERT', 'UPDATE', 'DELETE')
          and case when grantee = 0 then relkind <> 'r' or relname in (select l.relation from ledger l)
                   when relname in (select l.relation from ledger l) then not exists (
                  select from ledger l where l.relation in (relname, relname || '.' || part) and privilege = any (string_to_array(writes, ' ')))
              else relkind in ('v', 'S') and relname not in (select w.relation from written_views w) end
    union all
    select 'function ' || identity, privilege_type, grantee
    from pg_proc f join here on pronamespace = here.oid, aclexplode(coalesce(proacl, acldefault('f', proowner))),
         pg_identify_object('pg_proc'::regclass, f.oid, 0)
    where grantee not in (select role from trusted) and prosecdef and (grantee = 0 or coalesce(obj_description(f.oid, 'pg_proc'), '') not in ('called by views', 'called by sweeps', 'called by upkeep'))
), refusals (place, what, sentence) as (
    select place, identity, format(
        'the %1$s %2$s%3$s belongs to %4$I, and this role, %5$I, is %6$s: what stands there would run with this role''s rights. '
        'If it is not sweep''s, drop it%7$s; if it is, migrate as %4$I',
        type, identity, used_by, pg_get_userbyid(owner), me.rolname,
        case when me.rolsuper then 'a superuser who does not own it' else 'no member of that role' end,
        case when used_by is null then ' (drop schema sweep cascade)' end)
    from me, things cross join lateral pg_identify_object(class, id, 0)
    union all
    select 4, '', format(
        'the role %1$s may create in the schema sweep, and what it makes there would run with the rights of others: '
        'revoke create on schema sweep from %1$s', name)
    from here cross join aclexplode(nspacl) acl join names on role = acl.grantee
    where acl.privilege_type = 'CREATE' and acl.grantee not in (select role from trusted)
    union all
    select 5, what, format(
        'the role %1$s has the right %2$s on %3$s, which deploy/postgres/role.sql gives to nobody: revoke %2$s on %3$s from %1$s',
        name, privilege, what)
    from grants join names on role = grantee
    union all
    select 6, r.rolname, format(
        'this role, %1$I, is a superuser, and %2$I may write all tables, also what a migration runs: revoke pg_write_all_data from %2$I, '
        'or use a role that is none',
        me.rolname, r.rolname)
    from me, pg_roles r join writers on r.oid = role where me.rolsuper and not r.rolsuper and r.rolname <> 'pg_write_all_data'
)
select sentence from refusals order by place, what, sentence limit 1
