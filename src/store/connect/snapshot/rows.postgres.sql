select case nspname when 'public' then relname else nspname || '.' || relname end,
       format('select %s, t::text from %I.%I t', coalesce('row(' || key.columns || ')::text', 't::text'), nspname, relname)
from pg_class c join pg_namespace n on n.oid = relnamespace
cross join lateral (
    select string_agg(quote_ident(attname), ', ' order by attnum) as columns
    from pg_index join pg_attribute on attrelid = indrelid and attnum = any (indkey)
    where indrelid = c.oid and indisprimary
) key
where relkind in ('r', 'p') and not relispartition and nspname not in ('pg_catalog', 'information_schema') and nspname not like 'pg\_%'
