{#- PostgreSQL's words for what the ledger and the boards need, which are written once for both databases.
    catalog.rs puts this in front of each of their migrations. -#}
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
