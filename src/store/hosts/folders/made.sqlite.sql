    select name || case when type <> 'index' then '' when sql like 'CREATE UNIQUE %' then ' (a unique index)' else ' (an index)' end as name, type,
        -- Of what stands under a name of its own the number is enough here.
        sql || ' ' || (select count(*) from sqlite_master o
                       where o.tbl_name = m.name collate nocase and (o.type = 'trigger' or o.sql like 'CREATE UNIQUE %')) as definition
    from sqlite_master m
