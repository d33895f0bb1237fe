-- Gives a database, and what stands in its schema `public`, to the role sweep_test_host, which may create databases and is no superuser.
do $$
declare made text;
begin
    begin
        if to_regrole('sweep_test_host') is null then create role sweep_test_host login createdb password 'secret'; end if;
    -- Roles belong to the whole server: another test may make this one at the same moment.
    exception when duplicate_object or unique_violation then null;
    end;
    execute format('alter database %I owner to sweep_test_host', current_database());
    for made in
        select format('alter table %s owner to sweep_test_host', oid::regclass) from pg_class
        where relnamespace = 'public'::regnamespace and (relkind in ('r', 'p')
            -- A sequence of a column follows its table.
            or relkind = 'S' and not exists (select from pg_depend where objid = pg_class.oid and deptype in ('a', 'i')))
        union all
        select format('alter type %s owner to sweep_test_host', oid::regtype) from pg_type
        where typnamespace = 'public'::regnamespace and typtype in ('e', 'd')
    loop
        execute made;
    end loop;
end $$
