-- For each table but those of which `sweep migrate` writes the rows, a query that puts its rows into words, as statements that
-- insert them in place of what is there.
select format(
    'select ''delete from %1$s;'' union all select format(''insert into %1$s (%2$s) overriding system value values (%%s);'', concat_ws('', '', %3$s)) from %1$s',
    c.oid::regclass, columns, quoted)
from pg_class c join pg_namespace n on n.oid = relnamespace
cross join lateral (
    select string_agg(quote_ident(attname), ', ' order by attnum) as columns,
           string_agg(format('quote_nullable(%I)', attname), ', ' order by attnum) as quoted
    from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = ''
) written
where relkind = 'r' and nspname in ('sweep', 'public') and relname not in ('host', 'policy', '__diesel_schema_migrations')
union all
select format('select format(''select setval(%%L, %%s);'', pg_get_serial_sequence(%1$L, %2$L), max(%2$I)) from %1$s having max(%2$I) > 0',
    attrelid::regclass, attname)
from pg_attribute join pg_class c on c.oid = attrelid join pg_namespace n on n.oid = relnamespace
where attidentity <> '' and relkind = 'r' and nspname in ('sweep', 'public')
