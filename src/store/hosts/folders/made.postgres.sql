    -- Without the functions pg_get_..., which a managed server may deny.
    -- Of what stands under a name of its own the number is enough here. How a table is stored is left to its owner.
    select 'sweep.' || relname as name, hashtextextended(concat_ws(' ',
        relpersistence, relrowsecurity, relforcerowsecurity, case relkind when 'v' then reloptions end,
        (select string_agg(concat_ws(' ', attname, format_type(atttypid, atttypmod), attcollation, attnotnull, attidentity, attgenerated, adbin),
                           ', ' order by attnum)
         from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum
         where attrelid = c.oid and attnum > 0 and not attisdropped),
        (select string_agg(concat_ws(' ', conname, contype, conkey, conbin, confrelid, confkey, confupdtype, confdeltype, condeferrable, condeferred,
                                     convalidated), ', ' order by conname)
         from pg_constraint where conrelid = c.oid),
        (select string_agg(concat_ws(' ', rulename, ev_type, ev_enabled, is_instead, ev_qual, ev_action), ', ' order by rulename)
         from pg_rewrite where ev_class = c.oid),
        (select string_agg(concat_ws(' ', polname, polcmd, polpermissive, polroles, polqual, polwithcheck), ', ' order by polname)
         from pg_policy where polrelid = c.oid),
        (select count(*) from pg_inherits where inhparent = c.oid),
        (select count(*) from pg_index where indrelid = c.oid and indisunique and indisvalid),
        -- Other tables may refer to sweep's by foreign keys, whose triggers are internal: of these the number that does nothing.
        (select count(*) from pg_trigger
         where tgrelid = c.oid and tgname <> 'notify_of_run_end' and (not tgisinternal or tgenabled not in ('O', 'A')))), 0)::text as definition
    from pg_class c where relnamespace = to_regnamespace('sweep') and relkind in ('r', 'v')
    union all  -- an index that is not valid holds nothing; nulls may be alike since PostgreSQL 15
    select format('sweep.%s (%s)', relname, case when indisunique then 'a unique index' else 'an index' end),
        hashtextextended(concat_ws(' ', indrelid, indkey, indclass, indcollation, indimmediate, indpred, indexprs,
                                   to_jsonb(i) ->> 'indnullsnotdistinct'), 0)::text
    from pg_index i join pg_class c on c.oid = indexrelid where relnamespace = to_regnamespace('sweep') and indisvalid
    union all  -- a trigger that is disabled does nothing; that which tells of runs' ends may go, and the daemon says so
    select format('sweep.%s (a trigger on %s)', tgname, relname), hashtextextended(concat_ws(' ', tgfoid, tgtype, tgattr, tgqual, encode(tgargs, 'hex')), 0)::text
    from pg_trigger t join pg_class c on c.oid = tgrelid
    where relnamespace = to_regnamespace('sweep') and not tgisinternal and tgenabled in ('O', 'A') and tgname <> 'notify_of_run_end'
    union all  -- the first number that is not PostgreSQL's own keeps the index in use
    select 'sweep.' || proname, hashtextextended(string_agg(concat_ws(' ', prosecdef, proconfig, prolang, provolatile, proisstrict, prorettype,
                                                                      proargtypes, proargdefaults, prosrc, prosqlbody),
                                                            ', ' order by pronargs, prosrc), 0)::text
    from pg_proc where oid >= 16384 and pronamespace = to_regnamespace('sweep') group by proname
