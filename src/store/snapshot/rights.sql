-- What anybody could do with what stands in our schema, or whoever sweeps cannot.
select format('the function %s runs with its owner''s rights, and %s', f.oid::regprocedure, why)
from pg_proc f
cross join lateral (values
    (not exists (select from unnest(proconfig) setting where setting like 'search\_path=%pg_temp' or setting = 'search_path=""'),
     'finds tables by the search path of whoever calls it: expected `set search_path = sweep, pg_temp`'),
    (has_function_privilege('public', f.oid, 'execute'), 'everybody may call it: expected `revoke execute … from public`')
) mistake (is_made, why)
where pronamespace = 'sweep'::regnamespace and prosecdef and is_made
union all
select format('the function %s writes with the rights of whoever sweeps, who has none on the host''s tables: expected `security definer`',
              tgfoid::regprocedure)
from pg_trigger t join pg_class c on c.oid = tgrelid join pg_proc f on f.oid = tgfoid
where relnamespace = 'sweep'::regnamespace and relkind = 'v' and not tgisinternal and not prosecdef and prosrc ~* '\m(insert into|update|delete from|merge into)\M'
union all
select format('everybody has the right to %s %s: expected no grant to public', lower(privilege_type), c.oid::regclass)
from pg_class c, aclexplode(relacl)
where relnamespace = 'sweep'::regnamespace and grantee = 0
