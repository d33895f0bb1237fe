    -- Without the functions pg_get_..., which a managed server may deny.
    select 'sweep.' || relname as name, hashtextextended(case relkind
        when 'v' then (select ev_action::text from pg_rewrite where ev_class = c.oid and rulename = '_RETURN')
        else concat_ws(', ',
            (select string_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod), attnotnull), ', ' order by attnum)
             from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped),
            (select string_agg(concat_ws(' ', conname, contype, conkey, conbin), ', ' order by conname)
             from pg_constraint where conrelid = c.oid)) end, 0)::text as definition
    from pg_class c where relnamespace = to_regnamespace('sweep') and relkind in ('r', 'v')
    union all  -- an index that is not valid holds nothing
    select format('sweep.%s (%s)', relname, case when indisunique then 'a unique index' else 'an index' end),
        hashtextextended(concat_ws(' ', indrelid, indkey, indpred, indexprs), 0)::text
    from pg_index join pg_class c on c.oid = indexrelid where relnamespace = to_regnamespace('sweep') and indisvalid
    union all  -- a trigger that is disabled does nothing; that which tells of runs' ends may go, and the daemon says so
    select format('sweep.%s (a trigger on %s)', tgname, relname),
        hashtextextended(concat_ws(' ', tgfoid, tgtype, tgattr, tgqual), 0)::text
    from pg_trigger t join pg_class c on c.oid = tgrelid
    where relnamespace = to_regnamespace('sweep') and not tgisinternal and tgenabled in ('O', 'A') and tgname <> 'notify_of_run_end'
    union all  -- the first number that is not PostgreSQL's own keeps the index in use
    select 'sweep.' || proname, hashtextextended(string_agg(concat_ws(' ', prosecdef, proconfig, prosrc), ', ' order by pronargs, prosrc), 0)::text
    from pg_proc where oid >= 16384 and pronamespace = to_regnamespace('sweep') group by proname
