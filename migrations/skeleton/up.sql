-- What sweep reads and writes of this database. Fill in each column, and remove `where false`. All that is to be known of a column is in
-- docs/host-reference.md.{% if sqlite %} All of it is temporary. What has to last, such as which wake became what, goes into a table of the
-- folder sqlite_lasting/: docs/hosts.md, "Hosts on SQLite".{% endif %}
--
-- The tables that are there:
{%- for table in tables %}
--   {{ table.name }} ({{ table.columns }})
{%- endfor %}
{%- for relation in relations %}

-- {{ relation.about }}
{%- if relation.lookups %}
-- Looked up by {{ relation.lookups }}: an index of yours has to serve each.
{%- endif %}
create view {{ relation.name }} as
select
{%- for column in relation.columns %}
    {{ column.value }} as {{ column.name }}{{ "," if not loop.last }}  -- {{ column.meaning }}
{%- endfor %}

where {{ "true" if relation.has_a_row else "false" }};
{%- for write in relation.writes %}
{%- if sqlite %}

-- A table is named plainly here: SQLite takes no main.tasks in a trigger.
create trigger {{ write }}_{{ relation.name }} instead of {{ write }} on {{ relation.name }} begin
    select raise(abort, 'write what an {{ write }} of {{ relation.name }} does');
end;
{%- else %}

create function {{ write }}_{{ relation.name }}() returns trigger language plpgsql security definer set search_path = sweep, pg_temp as $$
begin
    raise exception 'write what an {{ write }} of {{ relation.name }} does, and return null if it wrote nothing';
    return new;
end $$;
create trigger {{ write }}_{{ relation.name }} instead of {{ write }} on {{ relation.name }} for each row execute function {{ write }}_{{ relation.name }}();
revoke execute on function {{ write }}_{{ relation.name }} from public;
{%- endif %}
{%- endfor %}
{%- endfor %}
