select coalesce(nspname, 'database') || ' ' || text
from (
    select oid as namespace, concat_ws(' ', 'exists', nspowner::regrole, nspacl) as text from pg_namespace
    union all
    select relnamespace, concat_ws(' ', relkind, relname, pg_get_viewdef(oid), relacl, relowner::regrole, reloptions, relpersistence,
                                   relrowsecurity, relforcerowsecurity, relreplident, pg_get_expr(relpartbound, oid))
    from pg_class where relkind in ('r', 'v', 'm', 'S', 'p', 'f')
    union all
    select relnamespace, concat_ws(' ', relname || '.' || attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, attacl,
                                   (select pg_get_expr(adbin, adrelid) from pg_attrdef where adrelid = attrelid and adnum = attnum))
    from pg_attribute join pg_class c on c.oid = attrelid
    where attnum > 0 and not attisdropped and relkind in ('r', 'p', 'f')
    union all
    select relnamespace, concat_ws(' ', pg_get_indexdef(oid), reloptions) from pg_class where relkind in ('i', 'I')
    union all
    select connamespace, concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
    union all
    select relnamespace, concat_ws(' ', pg_get_triggerdef(t.oid), tgenabled)
    from pg_trigger t join pg_class c on c.oid = tgrelid where not tgisinternal
    union all
    select relnamespace, concat_ws(' ', pg_get_ruledef(r.oid), ev_enabled)
    from pg_rewrite r join pg_class c on c.oid = ev_class where rulename <> '_RETURN'
    union all
    select relnamespace, concat_ws(' ', 'policy', polname, relname, polcmd, polpermissive, polroles::regrole[], pg_get_expr(polqual, polrelid),
                                   pg_get_expr(polwithcheck, polrelid))
    from pg_policy join pg_class c on c.oid = polrelid
    union all
    select pronamespace, concat_ws(' ', oid::regprocedure, md5(prosrc), provolatile, prosecdef, proacl, proowner::regrole, proconfig) from pg_proc
    union all
    select typnamespace, concat_ws(' ', 'type', typname, typowner::regrole, typacl,
                                   (select string_agg(enumlabel, ',' order by enumsortorder) from pg_enum where enumtypid = t.oid))
    from pg_type t where typrelid = 0 and typelem = 0
    union all
    select stxnamespace, pg_get_statisticsobjdef(oid) from pg_statistic_ext
    union all
    select nullif(defaclnamespace, 0), concat_ws(' ', 'default privileges', defaclrole::regrole, defaclobjtype, defaclacl) from pg_default_acl
    union all
    select null, concat_ws(' ', 'extension', extname, extversion) from pg_extension
    union all
    select null, concat_ws(' ', 'event trigger', evtname, evtevent, evtfoid::regprocedure, evtenabled) from pg_event_trigger
    union all
    select null, concat_ws(' ', 'publication', pubname, puballtables, pubinsert, pubupdate, pubdelete, pubtruncate, prrelid::regclass)
    from pg_publication p left join pg_publication_rel on prpubid = p.oid
    union all
    select null, concat_ws(' ', 'foreign server', srvname, srvoptions, srvacl) from pg_foreign_server
    union all
    select null, concat_ws(' ', 'setting', nullif(setrole, 0)::regrole, setconfig)
    from pg_db_role_setting where setdatabase = (select oid from pg_database where datname = current_database())
) line
left join pg_namespace n on n.oid = namespace
where coalesce(nspname, 'database') <> 'information_schema' and coalesce(nspname, '') not like 'pg\_%'
