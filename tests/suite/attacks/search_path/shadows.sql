-- Makes, in the schema :schema, a shadow of each name that a statement may use: PostgreSQL's functions and operators,
-- with the types that they take and with those that fit plain texts and names better, and the catalogs that describe
-- schemas. A shadow that runs advances the sequence, which no rollback takes back, and fails.
create sequence evil.calls;
do $make$
declare
    body text := 'begin perform pg_catalog.nextval(''evil.calls''); raise exception ''shadowed''; end';
    pseudo text[] := array['internal', 'cstring', 'trigger', 'event_trigger', 'any', 'record', 'void', 'language_handler',
        'fdw_handler', 'tsm_handler', 'index_am_handler', 'table_am_handler', 'opaque', 'unknown', 'pg_ddl_command'];
    one record;
    made text;
begin
    for one in
        with texts (plain, other) as (values ('text', 'text'), ('text', 'name'), ('text', 'varchar'))
        select distinct p.proname, replace(a.arguments, 'text', t.other) as arguments, format_type(p.prorettype, null) as result
        from pg_proc p
        cross join lateral (
            select coalesce(string_agg(format_type(type, null), ', ' order by place), '') as arguments,
                   coalesce(bool_or(format_type(type, null) = any (pseudo)), false) as is_pseudo
            from unnest(p.proargtypes) with ordinality u (type, place)
        ) a
        cross join texts t
        where p.pronamespace = 'pg_catalog'::regnamespace and p.prokind = 'f' and p.provariadic = 0 and not a.is_pseudo
          and format_type(p.prorettype, null) <> all (pseudo)
          and (t.other = 'text' or a.arguments ~ '\mtext\M')
    loop
        begin
            execute format('create function :schema.%I(%s) returns %s language plpgsql as %L',
                one.proname, one.arguments, one.result, body);
        exception when others then null;  -- a function that plpgsql cannot write shadows nothing
        end;
    end loop;
    for one in
        with texts (other) as (values ('text'), ('name'), ('varchar'))
        select distinct o.oid, o.oprname, o.oprresult, replace(format_type(o.oprleft, null), 'text', l.other) as left_type,
               replace(format_type(o.oprright, null), 'text', r.other) as right_type, o.oprleft = 0 as is_prefix
        from pg_operator o cross join texts l cross join texts r
        where o.oprnamespace = 'pg_catalog'::regnamespace
          and (l.other = 'text' or o.oprleft = 'text'::regtype) and (r.other = 'text' or o.oprright = 'text'::regtype)
    loop
        begin
            made := 'op_' || md5(one.oprname || coalesce(one.left_type, '') || one.right_type);
            execute format('create function :schema.%I(%s) returns %s language plpgsql as %L', made,
                case when one.is_prefix then one.right_type else one.left_type || ', ' || one.right_type end,
                format_type(one.oprresult, null), body);
            execute format('create operator :schema.%s (%s rightarg = %s, function = :schema.%I)', one.oprname,
                case when one.is_prefix then '' else 'leftarg = ' || one.left_type || ',' end, one.right_type, made);
        exception when others then null;
        end;
    end loop;
end $make$;
create function evil.called() returns boolean language plpgsql as
    'begin perform pg_catalog.nextval(''evil.calls''); raise exception ''shadowed''; end';
