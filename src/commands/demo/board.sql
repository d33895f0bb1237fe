-- The company in numbers, and its board as people see it, in two columns: one text. An expression, to select.
(with work as (
    select row_number() over (order by i.id) - 1 as n, count(*) over () as total,
           printf('  %-6s  %-30s  %-6s', i.identifier, i.title, coalesce(a.name, i.assignee_user_id)) as line
    from issues i left join agents a on a.id = i.assignee_agent_id
    where i.status = 'in_progress'
)
select printf('%d agents, %d sessions, %d issues and %d plans. Its board says that this is in progress:',
              (select count(*) from agents), (select count(*) from sessions),
              (select count(*) from issues), (select count(*) from plans))
       || char(10, 10) || group_concat(rtrim(l.line || coalesce(r.line, '')), char(10) order by l.n)
from work l left join work r on r.n = l.n + (l.total + 1) / 2
where l.n < (l.total + 1) / 2)
