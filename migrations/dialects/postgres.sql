{#- PostgreSQL's words for what the ledger, the boards and the host `native` need: these are written once for both
    databases, and catalog.rs puts this in front of each of their migrations. -#}
{#- `id`, the type of the host's ids, is in its host.toml; those of sweep's own rows are these. -#}
{%- set uuid = "uuid" -%}
{%- set number = "float8" -%}
{%- set big_integer = "bigint" -%}
{%- set strict = "" -%}
{%- set type_of = "jsonb_typeof" -%}
{#- For the defaults of columns: the moment itself, and for what a host writes the beginning of its transaction. -#}
{%- set now = "clock_timestamp()" -%}
{%- set now_of_transaction = "now()" -%}
{#- For views. -#}
{%- set at_statement = "statement_timestamp()" -%}
{%- set greatest = "greatest" -%}
{#- One row, as the planner is to know. -#}
{%- set policy = "(select * from policy limit 1)" -%}
{#- What is read at once of all issues or steps in progress: where sweep's own facts are over tables whose statuses an index finds. -#}
{%- set at_once = "issue_facts" not in brings and "open_issues" not in brings -%}
{#- Facts are read in steps, and what the first step has read of a subject is called o. -#}
{%- set one_by_one = true -%}
{%- set known = "o" -%}
{%- set key = "id uuid primary key default gen_random_uuid()" -%}
{#- Which database it is: of a file its path says that. -#}
{%- set database_id = "database_id uuid not null default gen_random_uuid(),\n    " -%}
{%- set numbered_key = "id bigint generated always as identity primary key" -%}
{%- macro time(column) %}{{ column }} timestamptz{% endmacro -%}
{#- Of a year with four digits, as every program can read it. -#}
{%- macro calendar_time(column) %}{{ time(column) }} check ({{ column }} >= '0001-01-01Z' and {{ column }} < '10000-01-01Z'){% endmacro -%}
{%- macro json(column) %}{{ column }} jsonb{% endmacro -%}
{%- macro flag(column) %}{{ column }} boolean{% endmacro -%}
{%- macro before(at, seconds) %}{{ at }} - make_interval(secs => {{ seconds }}){% endmacro -%}
{%- macro after(at, seconds) %}{{ at }} + make_interval(secs => {{ seconds }}){% endmacro -%}
{%- macro entries(document, member) %}jsonb_each({{ document }} -> '{{ member }}'){% endmacro -%}
{%- macro is_one_of(status, list) %}(p.vocabulary -> '{{ list }}' ? {{ status }}) is true{% endmacro -%}
{#- The facts of the subject of a key, and what `branches` make of them. Of a key that is null nothing is read. One by one: joined, the facts of
    all that ever were would be read. `once`: what branches ask for is computed before them, and once; else when one comes to it, each time. -#}
{%- macro facts_of(kind, key, columns, branches, once=false, condition="true") %}lateral (
        select {% for column in columns %}f.{{ column }}, {% endfor %}case
            {{- branches }} end as reason
        {%- if once %}
        from (select * from {{ kind }}_facts f where f.subject_id = {{ key }} offset 0) f left join {{ policy }} p on true
        where {{ condition }} offset 0
        {%- else %}
        from {{ kind }}_facts f left join {{ policy }} p on true
        where f.subject_id = {{ key }} and {{ condition }} offset 0
        {%- endif %}
    ){% endmacro -%}
{%- macro details_of(kind) %}lateral (
    select * from {{ kind }}_details d where d.subject_id = w.subject_id and d.reason = w.reason offset 0
) d on true{% endmacro -%}
{#- Of many these are dear, and seldom asked for. -#}
{%- macro attempts_used_up(kind) %}{% if at_once %}(
                     select p.attempts_max <= g.attempts or p.attempts_per_day_max <= g.attempts_last_day
                     from {{ kind }}_facts g where g.subject_id = f.subject_id)
                 {%- else %}p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day{% endif %}{% endmacro -%}
{%- macro short_json(column, characters) %}{{ column }} jsonb check (length({{ column }}::text) <= {{ characters }}){% endmacro -%}
{%- macro short_id(column) %}{{ column }} {{ id }} check (length({{ column }}::text) <= 1000){% endmacro -%}
{%- macro short_text(column, characters) %}{{ column }} text check (length({{ column }}) <= {{ characters }}){% endmacro -%}
{#- A constraint at the end of a table, with the comma before it. -#}
{%- macro at_most(what, bytes, columns) %}{% endmacro -%}
{%- macro whole_number(column) %}{{ column }} integer{% endmacro -%}
{%- macro reference(column, table) %}{{ column }} {{ id }} references {{ table }}{% endmacro -%}
{#- The key to a table that is made later is added with the triggers. -#}
{%- macro forward_reference(column, table) %}{{ column }} {{ id }}{% endmacro -%}
{#- Beside each row before it, so many rows of a table, by an index in this order. -#}
{%- macro some_of(table, name, condition, order, most) %}cross join lateral (
        select * from {{ table }} {{ name }} where {{ condition }} order by {{ order }} limit {{ most }}) {{ name }}{% endmacro -%}
{#- That with this id. -#}
{%- macro that_of(view, name, id) %}cross join lateral (select * from {{ view }} {{ name }} where {{ name }}.id = {{ id }} offset 0) {{ name }}{% endmacro -%}
{#- A time as people read it. -#}
{%- macro minute(at) %}to_char({{ at }} at time zone 'UTC', 'YYYY-MM-DD HH24:MI'){% endmacro -%}
{#- A subject is locked and its facts are read by one call, and so in one round trip. The lock's statement and that of the facts stay two:
    each statement of a volatile function sees what is committed when it begins, so the facts are those of what is held. Of the rows that a
    recovery refers to, those that somebody else holds are null. A host's facts may ask the setting
    sweep.facts_of whether they are those of one subject. -#}
{%- macro take(kind, lock) %}create function take_{{ kind }}(wanted id) returns setof {{ kind }}_decided_facts language plpgsql as $$
#variable_conflict use_variable
declare
    agent id;
    issue id;
    is_held boolean;
    facts {{ kind }}_decided_facts;
begin
    {{ lock }};
    is_held := found;
    set local sweep.facts_of = 'one';
    select * into facts from {{ kind }}_decided_facts f where f.subject_id = wanted;
    if found then
        facts.held := is_held;
        facts.held_agent_id := agent;
        facts.held_issue_id := issue;
        return next facts;
    end if;
end $$;
revoke execute on function take_{{ kind }} from public;
comment on function take_{{ kind }} is 'called by sweeps';{% endmacro -%}
