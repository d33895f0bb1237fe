-- sweep writes to a host's tables by functions that run with their owner's rights, and with them run the host's own
-- triggers. A superuser lends those rights to everybody who may change such a trigger.
-- One sentence about the first of the host's tables that such a role does not own; no row when all is well.
select format(
    'this role, %1$I, is a superuser, and the table public.%2$I belongs to %3$I: whoever may change the host''s triggers would '
    'get a superuser''s rights. Migrate as %3$I (after grant create on database %4$I to %3$I), or add --as-superuser',
    current_user, c.relname, pg_get_userbyid(c.relowner), current_database())
from pg_class c
join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
join pg_roles r on r.rolname = current_user and r.rolsuper
where c.relkind in ('r', 'p') and c.relowner <> r.oid and c.relname::text = any (tables)
order by c.relname limit 1
