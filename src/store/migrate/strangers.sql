-- Whoever owns a relation of the schema sweep, or a function, may have it run something of his own, with the rights of the
-- role that migrates; and so may whoever owns the function of a trigger there, or may put a trigger or a key there. So all of it must
-- belong to this role or to one of which it is a member, nobody else may add to it, and of the ledger nobody else may write
-- what deploy/postgres/role.sql lets nobody write. A superuser is not asked whether he wants to be a member of a role: for him
-- only superusers count. One sentence about the first thing that is otherwise; no row when all is well.
with recursive trusted (role) as (
    select oid from pg_roles where rolname = session_user
        or rolsuper and (select rolsuper from pg_roles where rolname = session_user)
    union
    select m.roleid from pg_auth_members m join trusted on m.member = trusted.role
    where not (select rolsuper from pg_roles where rolname = session_user)
), here as (
    select oid, nspowner, nspacl from pg_namespace where nspname = 'sweep'
), relations as (
    select c.* from pg_class c join here on relnamespace = here.oid
), things (place, what, owner, remedy) as (
    select 1, 'the schema sweep', nspowner, 'drop it (drop schema sweep cascade)' from here
    union all
    select 2, format('sweep.%I', relname), relowner, 'drop it (drop schema sweep cascade)' from relations
    union all
    select 3, format('the function sweep.%I', proname), proowner, 'drop it (drop schema sweep cascade)'
    from pg_proc join here on pronamespace = here.oid
    union all
    select 4, format('the operator %s in the schema sweep', oprname), oprowner, 'drop it (drop schema sweep cascade)'
    from pg_operator join here on oprnamespace = here.oid
    union all
    select 5, format('the type sweep.%I', typname), typowner, 'drop it (drop schema sweep cascade)'
    from pg_type join here on typnamespace = here.oid where typcategory <> 'A'
    union all
    select 6, format('the function %s of a trigger on sweep.%I', tgfoid::regprocedure, relname), proowner,
           format('drop trigger %I on sweep.%I', tgname, relname)
    from pg_trigger join relations r on r.oid = tgrelid join pg_proc f on f.oid = tgfoid where not tgisinternal
), ledger (relation, writes) as (
    values ('host', ''), ('__diesel_schema_migrations', ''), ('recoveries', 'INSERT'), ('recoveries.settled_at', 'UPDATE'),
           ('sweeps', 'INSERT UPDATE'), ('policy', 'INSERT UPDATE'), ('failures', 'INSERT UPDATE'), ('notifications', 'INSERT UPDATE'),
           ('exemptions', 'INSERT UPDATE DELETE'), ('tenant_exemptions', 'INSERT UPDATE DELETE')
), grants (relation, part, privilege, grantee) as (
    select relname::text, relname::text, privilege_type, grantee from relations, aclexplode(relacl)
    union all
    select relname, relname || '.' || attname, privilege_type, grantee
    from relations r join pg_attribute on attrelid = r.oid, aclexplode(attacl)
), refusals (place, what, sentence) as (
    select place, what, format(
        '%1$s belongs to %2$I, and this role, %3$I, is %4$s: what stands there would run with this role''s rights. '
        'If it is not sweep''s, %5$s; if it is, migrate as %2$I',
        what, pg_get_userbyid(owner), session_user,
        case when (select rolsuper from pg_roles where rolname = session_user) then 'a superuser who does not own it'
             else 'no member of that role' end,
        remedy)
    from things where owner not in (select role from trusted)
    union all
    select 7, '', format(
        'the role %1$s may create in the schema sweep, and what it makes there would run with the rights of others: '
        'revoke create on schema sweep from %1$s',
        case when acl.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end)
    from here cross join aclexplode(nspacl) acl
    where acl.privilege_type = 'CREATE' and acl.grantee not in (select role from trusted)
    union all
    select 8, part, format(
        'the role %1$s has the right %2$s on sweep.%3$s, which deploy/postgres/role.sql gives to nobody: revoke %2$s on sweep.%3$s from %1$s',
        case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end, privilege, relation)
    from grants g
    where grantee not in (select role from trusted)
      and (privilege in ('TRIGGER', 'TRUNCATE', 'REFERENCES', 'MAINTAIN')
           or privilege in ('INSERT', 'UPDATE', 'DELETE') and relation in (select l.relation from ledger l)
              and not exists (select from ledger l where l.relation in (g.relation, g.part) and g.privilege = any (string_to_array(writes, ' '))))
)
select sentence from refusals order by place, what limit 1
