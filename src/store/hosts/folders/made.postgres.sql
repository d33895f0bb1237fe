    select 'sweep.' || relname as name, hashtextextended(case relkind when 'v' then pg_get_viewdef(c.oid) else
        (select string_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod), attnotnull), ', ' order by attnum)
         from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped)
        || coalesce((select string_agg(pg_get_constraintdef(oid), ', ' order by conname) from pg_constraint
                     where conrelid = c.oid), '') end, 0)::text as definition
    from pg_class c where relnamespace = to_regnamespace('sweep') and relkind in ('r', 'v')
    union all  -- an index that is not valid holds nothing
    select format('sweep.%s (%s)', relname, case when indisunique then 'a unique index' else 'an index' end),
        hashtextextended(pg_get_indexdef(indexrelid), 0)::text
    from pg_index join pg_class c on c.oid = indexrelid where relnamespace = to_regnamespace('sweep') and indisvalid
    union all  -- a trigger that is disabled does nothing; that which tells of runs' ends may go, and the daemon says so
    select format('sweep.%s (a trigger on %s)', tgname, relname), hashtextextended(pg_get_triggerdef(t.oid), 0)::text
    from pg_trigger t join pg_class c on c.oid = tgrelid
    where relnamespace = to_regnamespace('sweep') and not tgisinternal and tgenabled in ('O', 'A') and tgname <> 'notify_of_run_end'
    union all
    select 'sweep.' || proname, hashtextextended(string_agg(concat_ws(' ', prosecdef, proconfig, prosrc), ', ' order by pronargs, prosrc), 0)::text
    from pg_proc where pronamespace = to_regnamespace('sweep') group by proname
