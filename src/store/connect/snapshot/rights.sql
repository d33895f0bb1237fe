-- What anybody could do with what stands in our schema, or whoever sweeps cannot.
select format('the function %s runs with its owner''s rights, and %s', f.oid::regprocedure, why)
from pg_proc f
cross join lateral (values
    (not exists (select from unnest(proconfig) setting where setting ~ '^search_path=((pg_catalog|sweep), )*pg_temp$'),
     'finds tables by the search path of whoever calls it, or in schemas of others: expected `set search_path = sweep, pg_temp`'),
    (has_function_privilege('public', f.oid, 'execute'), 'everybody may call it: expected `revoke execute … from public`')
) mistake (is_made, why)
where pronamespace = 'sweep'::regnamespace and prosecdef and is_made
union all
select format('the function %s writes with the rights of whoever sweeps, who has none on the host''s tables: expected `security definer`',
              tgfoid::regprocedure)
from pg_trigger t join pg_class c on c.oid = tgrelid join pg_proc f on f.oid = tgfoid
where relnamespace = 'sweep'::regnamespace and relkind = 'v' and not tgisinternal and not prosecdef and prosrc ~* '\m(insert into|update|delete from|merge into)\M'
union all
select format('%1$s has the right to %2$s %3$s: expected no grant to %4$s',
              case grantee when 0 then 'everybody' else format('the role %I', pg_get_userbyid(grantee)) end, lower(privilege_type), what,
              case grantee when 0 then 'public' else 'anybody, since deploy/postgres/role.sql gives what is needed' end)
from (
    select oid::regclass::text, relowner, relacl from pg_class where relnamespace = 'sweep'::regnamespace
    union all
    select oid::regclass || '.' || quote_ident(attname), relowner, attacl
    from pg_class join pg_attribute on attrelid = oid where relnamespace = 'sweep'::regnamespace
) granted (what, owner, acl), aclexplode(acl)
-- Whom an owner lets read all that he makes, by default privileges, is for him to say.
where grantee = 0 or grantee <> owner and privilege_type <> 'SELECT'
union all
select format('the function %s may be called by whoever looks, and may write: expected `stable` or `immutable`', oid::regprocedure)
from pg_proc
where pronamespace = 'sweep'::regnamespace and provolatile = 'v' and obj_description(oid, 'pg_proc') = 'called by views'
union all
select distinct format('a view calls the function %1$s, which whoever looks may not: expected `comment on function %1$s is ''called by views''`',
                       f.oid::regprocedure)
from pg_depend d join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass join pg_class c on c.oid = r.ev_class
join pg_proc f on f.oid = d.refobjid and d.refclassid = 'pg_proc'::regclass
where relnamespace = 'sweep'::regnamespace and pronamespace = 'sweep'::regnamespace
  and obj_description(f.oid, 'pg_proc') is distinct from 'called by views'
union all
select format('the role that locks a row of the view %1$s may change the row''s id: expected a trigger `instead of update on %1$s`', relname)
from pg_class c join pg_attribute on attrelid = c.oid and attname = 'id'
where relnamespace = 'sweep'::regnamespace and relname in ('issues', 'plan_steps', 'sessions') and relkind = 'v'
  and pg_column_is_updatable(c.oid, attnum, false)
  and not exists (select from pg_trigger where tgrelid = c.oid and tgname = '!a_lock_is_no_update')
