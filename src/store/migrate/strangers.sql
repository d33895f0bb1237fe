-- Whoever owns a relation of the schema sweep, or a function, may have it run something of his own, with the rights of the
-- role that migrates. So all of it must belong to this role or to one of which it is a member, and nobody else may
-- add to it. A superuser is not asked whether he wants to be a member of a role: for him only his own role counts.
-- One sentence about the first thing that is otherwise; no row when all is well.
with recursive trusted (role) as (
    select oid from pg_roles where rolname = session_user
    union
    select m.roleid from pg_auth_members m join trusted on m.member = trusted.role
    where not (select rolsuper from pg_roles where rolname = session_user)
), here as (
    select oid, nspowner, nspacl from pg_namespace where nspname = 'sweep'
), things (place, what, owner) as (
    select 1, 'the schema sweep', nspowner from here
    union all
    select 2, format('sweep.%I', relname), relowner from pg_class join here on relnamespace = here.oid
    union all
    select 3, format('the function sweep.%I', proname), proowner from pg_proc join here on pronamespace = here.oid
    union all
    select 4, format('the operator %s in the schema sweep', oprname), oprowner from pg_operator join here on oprnamespace = here.oid
    union all
    select 5, format('the type sweep.%I', typname), typowner from pg_type join here on typnamespace = here.oid where typcategory <> 'A'
), refusals (place, what, sentence) as (
    select place, what, format(
        '%1$s belongs to %2$I, and this role, %3$I, is %4$s: what stands there would run with this role''s rights. '
        'If it is not sweep''s, drop it (drop schema sweep cascade); if it is, migrate as %2$I',
        what, pg_get_userbyid(owner), session_user,
        case when (select rolsuper from pg_roles where rolname = session_user) then 'a superuser who does not own it'
             else 'no member of that role' end)
    from things where owner not in (select role from trusted)
    union all
    select 6, '', format(
        'the role %1$s may create in the schema sweep, and what it makes there would run with the rights of others: '
        'revoke create on schema sweep from %1$s',
        case when acl.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(acl.grantee)) end)
    from here cross join aclexplode(nspacl) acl
    where acl.privilege_type = 'CREATE' and acl.grantee not in (select role from trusted)
)
select sentence from refusals order by place, what limit 1
