-- Each column of the tables of this schema, with each value that an enumeration or a constraint on it alone lists. What a constraint
-- excludes or compares is no list.
select c.relname::text, a.attname::text, listed.value
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
left join lateral (
    select enumlabel::text as value from pg_enum where enumtypid = a.atttypid
    union
    select coalesce(replace(literal[1], '''''', ''''), literal[2])
    from pg_constraint k
    cross join lateral pg_get_constraintdef(k.oid) as def
    cross join lateral regexp_matches(def, '''((?:[^'']|'''')*)''|[[ ](-?\d+)(?=[],])', 'g') as literal
    where k.contype = 'c' and (k.conrelid = c.oid and k.conkey = array[a.attnum] or k.contypid = a.atttypid)
      and regexp_replace(def, '''(?:[^'']|'''')*''', '', 'g') !~* '[<>~]|\mnot\M'
) listed on true
where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = (
