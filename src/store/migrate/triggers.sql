-- sweep writes to a host's tables by functions that run with their owner's rights, and with them run the host's own
-- triggers. So these tables, and the functions of their triggers, must belong to the role that migrates, to one of which it is
-- a member, or to a superuser, unless the operator names the host. A superuser lends far more than that to everybody who may
-- change such a trigger. One sentence about the first thing that is otherwise; no row when all is well.
with host_tables as (
    select c.oid, relname, relowner from pg_class c
    join pg_namespace n on n.oid = relnamespace and nspname = 'public'
    where relkind in ('r', 'p') and relname::text = any ('TABLES')
), things (place, what, owner) as (
    select 1, format('the table public.%I', relname), relowner from host_tables
    union all
    select 2, format('the function %s of a trigger on public.%I', tgfoid::regprocedure, relname), proowner
    from pg_trigger join host_tables t on t.oid = tgrelid join pg_proc f on f.oid = tgfoid where not tgisinternal
    union all
    select 3, format('the function %s', f.oid::regprocedure), proowner
    from pg_proc f where pronamespace = to_regnamespace('public') and IN_PUBLIC
    union all
    select 4, format('the operator %s', o.oid::regoperator), oprowner
    from pg_operator o where oprnamespace = to_regnamespace('public') and IN_PUBLIC
)
select case when r.rolsuper then format(
    'this role, %1$I, is a superuser, and %2$s belongs to %3$I: whoever may change the host''s triggers would '
    'get a superuser''s rights. Migrate as %3$I (after grant create on database %4$I to %3$I), or add --as-superuser',
    r.rolname, what, pg_get_userbyid(owner), current_database())
else format(
    '%2$s belongs to %3$I, and this role, %1$I, is no member of that role: whoever may change the host''s '
    'triggers would get this role''s rights. Migrate as %3$I, or name the host if you trust that role: --host HOST',
    r.rolname, what, pg_get_userbyid(owner)) end
from things join pg_roles r on r.rolname = session_user join pg_roles o on o.oid = owner
where owner <> r.oid
  and case when r.rolsuper then not o.rolsuper and not AS_SUPERUSER
           else not IS_NAMED and not o.rolsuper and not pg_has_role(r.oid, owner, 'member') end
order by place, what limit 1
