-- Removes what is over. It runs with the right of its owner, so a role that sweeps can delete nothing else, whatever it asks for.
create function remove_over(relation text, after timestamptz, until timestamptz, over_before timestamptz) returns void
language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    if relation not in ('recoveries', 'sweeps', 'notifications') then
        raise exception 'rows of % are not removed: expected recoveries, sweeps or notifications', relation;
    end if;
    execute format('delete from %1$I where id in (select id from %2$I where at > $1 and at <= $2 and over_since < $3)',
                   relation, relation || '_over')
    using after, until, least(over_before, now() - interval '7 days');
end $$;
revoke execute on function remove_over from public;
comment on function remove_over is 'called by upkeep';
