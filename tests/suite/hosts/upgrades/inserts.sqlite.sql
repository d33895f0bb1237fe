-- For each table a query that puts its rows into words, as statements that insert them.
select 'select ''insert into "' || m.name || '" values ('' || ' || group_concat('quote("' || c.name || '")', ' || '','' || ')
           || ' || '');'' from "' || m.name || '"'
from sqlite_master m join pragma_table_info(m.name) c
where m.type = 'table' and m.name not like 'sqlite\_%' escape '\'
group by m.name
