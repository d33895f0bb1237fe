{#- SQLite's words for what the ledger and the boards need: see postgres.sql. A time is text in UTC, to the millisecond. -#}
{%- set id = "text" -%}
{%- set number = "real" -%}
{%- set big_integer = "integer" -%}
{%- set strict = " strict" -%}
{%- set type_of = "json_type" -%}
{%- set format = "'%Y-%m-%dT%H:%M:%fZ'" -%}
{%- set now = "(strftime(" ~ format ~ ", 'now'))" -%}
{%- set at_statement = "'now'" -%}
{%- set greatest = "max" -%}
{%- set policy = "policy" -%}
{%- set computed_once = "limit -1" -%}
{%- macro time(column) %}{{ column }} text check ({{ column }} is strftime({{ format }}, {{ column }})){% endmacro -%}
{%- macro json(column) %}{{ column }} text check (json_valid({{ column }})){% endmacro -%}
{%- macro flag(column) %}{{ column }} int check ({{ column }} in (false, true)){% endmacro -%}
{%- macro before(time, seconds) %}strftime({{ format }}, {{ time }}, printf('-%f seconds', {{ seconds }})){% endmacro -%}
{%- macro after(time, seconds) %}strftime({{ format }}, {{ time }}, printf('+%f seconds', {{ seconds }})){% endmacro -%}
{%- macro entries(document, key) %}json_each({{ document }}, '$.{{ key }}'){% endmacro -%}
{%- macro is_one_of(status, key) %}{{ status }} in (select value from json_each(p.vocabulary, '$.{{ key }}')){% endmacro -%}
{%- macro join_facts(kind) %}join {{ kind }}_facts f on f.subject_id = s.subject_id{% endmacro -%}
