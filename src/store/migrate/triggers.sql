-- sweep writes to a host's tables by functions that run with their owner's rights, and with them run the host's own
-- triggers. So these tables must belong to the role that migrates, or to one of which it is a member, unless the operator
-- names the host. A superuser lends far more than that to everybody who may change such a trigger.
-- One sentence about the first of the host's tables that is otherwise; no row when all is well.
select case when r.rolsuper then format(
    'this role, %1$I, is a superuser, and the table public.%2$I belongs to %3$I: whoever may change the host''s triggers would '
    'get a superuser''s rights. Migrate as %3$I (after grant create on database %4$I to %3$I), or add --as-superuser',
    r.rolname, c.relname, pg_get_userbyid(c.relowner), current_database())
else format(
    'the table public.%2$I belongs to %3$I, and this role, %1$I, is no member of that role: whoever may change the host''s '
    'triggers would get this role''s rights. Migrate as %3$I, or name the host if you trust that role: --host HOST',
    r.rolname, c.relname, pg_get_userbyid(c.relowner)) end
from pg_class c
join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
join pg_roles r on r.rolname = session_user
where c.relkind in ('r', 'p') and c.relowner <> r.oid and c.relname::text = any ('TABLES')
  and case when r.rolsuper then not AS_SUPERUSER else not IS_NAMED and not pg_has_role(r.oid, c.relowner, 'member') end
order by c.relname limit 1
