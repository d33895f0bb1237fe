select nspname || ' ' || text
from (
    select oid as namespace, 'exists' as text from pg_namespace
    union all
    select relnamespace, relkind::text || ' ' || relname || ' ' || coalesce(pg_get_viewdef(oid), '') || coalesce(relacl::text, '')
    from pg_class where relkind in ('r', 'v', 'm', 'S', 'p')
    union all
    select relnamespace, relname || '.' || attname || ' ' || format_type(atttypid, atttypmod) || ' ' || attnotnull::text || ' '
           || coalesce((select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = attrelid and adnum = attnum), '')
    from pg_attribute join pg_class c on c.oid = attrelid
    where attnum > 0 and not attisdropped and relkind in ('r', 'p')
    union all
    select relnamespace, pg_get_indexdef(oid) from pg_class where relkind = 'i'
    union all
    select connamespace, conrelid::regclass::text || ' ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
    union all
    select relnamespace, pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = tgrelid where not tgisinternal
    union all
    select pronamespace, oid::regprocedure::text || md5(prosrc) || prosecdef::text || coalesce(proacl::text, '') from pg_proc
    union all
    select typnamespace, 'type ' || typname from pg_type where typrelid = 0 and typelem = 0
) line join pg_namespace n on n.oid = namespace
where nspname <> 'information_schema' and nspname not like 'pg\_%'
