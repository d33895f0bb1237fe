{#- SQLite's words for the names that postgres.sql defines. A time is text in UTC, to the millisecond. Other programs open the file with a
    SQLite of their own, of 3.37 or later: one word in the schema that theirs does not know keeps the whole file from them. -#}
{#- In another program's file, ids that are numbers stay numbers: its indexes serve no text. -#}
{%- set id = "integer" if own and id in ["integer", "bigint"] else "text" -%}
{%- set uuid = "text" -%}
{%- set number = "real" -%}
{%- set big_integer = "integer" -%}
{%- set strict = " strict" -%}
{%- set type_of = "json_type" -%}
{%- set format = "'%Y-%m-%dT%H:%M:%fZ'" -%}
{%- set now = "(strftime(" ~ format ~ ", 'now'))" -%}
{%- set at_statement = "strftime(" ~ format ~ ", 'now')" -%}
{%- set greatest = "max" -%}
{%- set policy = "policy" -%}
{#- Facts are read in one step: SQLite computes a fact only when a branch asks for it. -#}
{%- set at_once = false -%}
{%- set one_by_one = false -%}
{%- set known = "f" -%}
{#- Bounds the bytes as well: SQLite counts characters up to the first NUL, and any number of bytes that are no UTF-8 as one. -#}
{%- macro is_short(column, characters) %}length({{ column }}) <= {{ characters }} and length(cast({{ column }} as blob)) <= {{ 4 * characters }}{% endmacro -%}
{#- Keys are short: a page of candidates holds 50,000 ids, and as many groups. -#}
{%- set key = "id text not null primary key check (" ~ is_short("id", 100) ~ ")" -%}
{%- set database_id = "" -%}
{%- set numbered_key = "id integer primary key" -%}
{%- set now_of_transaction = now -%}
{%- macro time(column) %}{{ column }} text check ({{ column }} is strftime({{ format }}, {{ column }})){% endmacro -%}
{%- macro calendar_time(column) %}{{ time(column) }}{% endmacro -%}
{#- Asks for null first: before SQLite 3.45, null is no valid JSON. -#}
{%- macro is_json(column) %}{{ column }} is null or json_valid({{ column }}){% endmacro -%}
{%- macro json(column) %}{{ column }} text check ({{ is_json(column) }}){% endmacro -%}
{#- `int`, since an `integer` primary key would be the number of the row. -#}
{%- macro flag(column) %}{{ column }} int check ({{ column }} in (false, true)){% endmacro -%}
{%- macro before(at, seconds) %}strftime({{ format }}, {{ at }}, printf('-%f seconds', {{ seconds }})){% endmacro -%}
{%- macro after(at, seconds) %}strftime({{ format }}, {{ at }}, printf('+%f seconds', {{ seconds }})){% endmacro -%}
{%- macro entries(document, member) %}json_each({{ document }}, '$.{{ member }}'){% endmacro -%}
{%- macro member(document, name) %}json_extract({{ document }}, '$.{{ name }}'){% endmacro -%}
{%- macro is_one_of(status, list) %}{{ status }} in (select value from json_each(p.vocabulary, '$.{{ list }}')){% endmacro -%}
{%- macro details_of(kind) %}{{ kind }}_details d on d.subject_id = w.subject_id and d.reason = w.reason{% endmacro -%}
{%- macro facts_of(kind, key, columns, branches, once=false, condition="true") %}{% endmacro -%}
{%- macro attempts_used_up(kind) %}p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day{% endmacro -%}
{%- macro short_json(column, characters) %}{{ column }} text check ({{ is_json(column) }} and {{ is_short(column, characters) }}){% endmacro -%}
{%- macro short_id(column) %}{{ column }} {{ id }} check ({{ is_short(column, 1000) }}){% endmacro -%}
{%- macro short_text(column, characters) %}{{ column }} text check ({{ is_short(column, characters) }}){% endmacro -%}
{%- macro at_most(what, bytes, columns) %}, constraint "at most {{ what }}" check (length(cast(
        {%- for column in columns %}coalesce({{ column }}, ''){{ "" if loop.last else " || " }}{% endfor %} as blob)) <= {{ bytes }}){% endmacro -%}
{#- An integer of 32 bits, as on PostgreSQL. -#}
{%- macro whole_number(column) %}{{ column }} integer check ({{ column }} between -2147483648 and 2147483647){% endmacro -%}
{#- Bounds the id too, since a writer may have turned foreign keys off. -#}
{%- macro reference(column, table) %}{{ column }} {{ id }} check ({{ is_short(column, 100) }}) references {{ table }}{% endmacro -%}
{%- macro forward_reference(column, table) %}{{ reference(column, table) }}{% endmacro -%}
{#- Joins each row with at most so many rows of a table, read by an index in this order. -#}
{%- macro some_of(table, name, condition, order, most) %}cross join {{ table }} {{ name }} on {{ name }}.id in (
        select {{ name }}.id from {{ table }} {{ name }} where {{ condition }} order by {{ order }} limit {{ most }}){% endmacro -%}
{%- macro those_of(view, name, condition) %}cross join {{ view }} {{ name }} on {{ condition }}{% endmacro -%}
{%- macro open_recovery(kind, subject, condition="true") %}left join open_recoveries o on o.kind = '{{ kind }}' and o.subject_id = {{ subject }}
                      and {{ condition }}{% endmacro -%}
{%- macro runs_of_wakes(condition) %}select r.id from wakes w join runs r on r.wake_id = w.id where {{ condition }}{% endmacro -%}
{%- macro runs_of_steps(steps, condition) %}select r.id from {{ steps }} cross join runs r on r.plan_step_id = s.id
        where {{ condition }}
        union all
        select r.id from {{ steps }} cross join wakes w on w.plan_step_id = s.id cross join runs r on r.wake_id = w.id
        where {{ condition }}{% endmacro -%}
{%- macro is_in(column, query, value) %}exists (select 1 from {{ query }} and {{ column }} = {{ value }}){% endmacro -%}
{%- macro minute(at) %}strftime('%Y-%m-%d %H:%M', {{ at }}){% endmacro -%}
{#- A writer holds the whole file. -#}
{%- macro hour(at) %}substr({{ at }}, 1, 13){% endmacro -%}
