{#- PostgreSQL's words for what the ledger, the boards and the host `native` need: these are written once for both
    databases, and catalog.rs puts this in front of each of their migrations. -#}
{%- set id = "uuid" -%}
{%- set number = "float8" -%}
{%- set big_integer = "bigint" -%}
{%- set strict = "" -%}
{%- set type_of = "jsonb_typeof" -%}
{%- set now = "clock_timestamp()" -%}
{%- set at_statement = "statement_timestamp()" -%}
{%- set greatest = "greatest" -%}
{#- One row, as the planner is to know. -#}
{%- set policy = "(select * from policy limit 1)" -%}
{#- Ends a subquery that is to be computed once, not once for each column that needs it. -#}
{%- set computed_once = "offset 0" -%}
{%- set key = "id uuid primary key default gen_random_uuid()" -%}
{%- set numbered_key = "id bigint generated always as identity primary key" -%}
{%- set now_of_transaction = "now()" -%}
{%- macro time(column) %}{{ column }} timestamptz{% endmacro -%}
{%- macro json(column) %}{{ column }} jsonb{% endmacro -%}
{%- macro flag(column) %}{{ column }} boolean{% endmacro -%}
{%- macro before(time, seconds) %}{{ time }} - make_interval(secs => {{ seconds }}){% endmacro -%}
{%- macro after(time, seconds) %}{{ time }} + make_interval(secs => {{ seconds }}){% endmacro -%}
{%- macro entries(document, key) %}jsonb_each({{ document }} -> '{{ key }}'){% endmacro -%}
{%- macro is_one_of(status, key) %}(p.vocabulary -> '{{ key }}' ? {{ status }}) is true{% endmacro -%}
{#- One by one: joined, the facts of all that ever were would be read. -#}
{%- macro join_facts(kind) %}cross join lateral (
        select * from {{ kind }}_facts f where f.subject_id = s.subject_id offset 0
    ) f{% endmacro -%}
{%- macro short_text(column, characters) %}{{ column }} text check (length({{ column }}) <= {{ characters }}){% endmacro -%}
{%- macro at_most(what, bytes, columns) %}{% endmacro -%}
{#- A table that is made later: its key is added then. -#}
{%- macro forward_reference(table) %}{% endmacro -%}
{%- macro ending(text, characters) %}right({{ text }}, {{ characters }}){% endmacro -%}
{#- A time as people read it. -#}
{%- macro minute(time) %}to_char({{ time }} at time zone 'UTC', 'YYYY-MM-DD HH24:MI'){% endmacro -%}
