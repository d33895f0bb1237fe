-- Has the server look at those of sweep's own tables that have changed since it last did: a plan that was made for empty tables compares each
-- open row with each. Nobody is waited for, and a host's tables are left alone. decisions.md#statistics-of-sweeps-own-tables
create function refresh_statistics() returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    changed regclass;
begin
    for changed in
        select oid from pg_class
        where relnamespace = 'sweep'::regnamespace and relkind = 'r'
          and pg_stat_get_mod_since_analyze(oid) >= least(1000 + greatest(reltuples, 0) / 10, 10000)
    loop
        execute format('analyze (skip_locked) %s', changed);
    end loop;
-- A managed server may deny the function that counts the changes.
exception when insufficient_privilege then null;
end $$;
revoke execute on function refresh_statistics from public;
comment on function refresh_statistics is 'called by sweeps';
