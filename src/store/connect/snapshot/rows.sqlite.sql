-- quote() tells a number from a text, and null from both.
select m.name,
       'select ' || coalesce(group_concat(case when c.pk > 0 then c.text end, ' || '','' || '), group_concat(c.text, ' || '','' || '))
           || ', ' || group_concat(c.text, ' || '','' || ') || ' from main."' || replace(m.name, '"', '""') || '"'
from main.sqlite_master m
join (select t.name as of_table, c.pk, 'quote("' || replace(c.name, '"', '""') || '")' as text
      from main.sqlite_master t join pragma_table_info(t.name, 'main') c) c on c.of_table = m.name
where m.type = 'table' and m.name not like 'sqlite\_%' escape '\'
group by m.name
