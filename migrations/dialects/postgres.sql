{#- PostgreSQL's words for the ledger, the boards and the host `native`, which are written once for both databases;
    catalog.rs puts this file in front of each of their migrations. decisions.md#one-schema-for-two-databases -#}
{#- The type of the ids of sweep's own rows; the type of the host's ids, `id`, is in its host.toml. -#}
{%- set uuid = "uuid" -%}
{%- set number = "float8" -%}
{%- set big_integer = "bigint" -%}
{%- set strict = "" -%}
{%- set type_of = "jsonb_typeof" -%}
{#- Defaults of columns: sweep's own rows take the present moment, a host's rows the beginning of their transaction. -#}
{%- set now = "clock_timestamp()" -%}
{%- set now_of_transaction = "now()" -%}
{#- The present time in views. -#}
{%- set at_statement = "statement_timestamp()" -%}
{%- set greatest = "greatest" -%}
{#- The limit tells the planner that the table has one row. -#}
{%- set policy = "(select * from policy limit 1)" -%}
{#- True if all issues or steps in progress are read at once: the facts are sweep's own, over tables whose statuses an index finds. -#}
{%- set at_once = "issue_facts" not in brings and "open_issues" not in brings -%}
{#- Facts are read in two steps; o is the row of the first step. -#}
{%- set one_by_one = true -%}
{%- set known = "o" -%}
{%- set key = "id uuid primary key default gen_random_uuid()" -%}
{#- Tells this database from others; a file is told by its path. -#}
{%- set database_id = "database_id uuid not null default gen_random_uuid(),\n    " -%}
{%- set numbered_key = "id bigint generated always as identity primary key" -%}
{%- macro time(column) %}{{ column }} timestamptz{% endmacro -%}
{#- A time whose year has four digits, which every program can read. -#}
{%- macro calendar_time(column) %}{{ time(column) }} check ({{ column }} >= '0001-01-01Z' and {{ column }} < '10000-01-01Z'){% endmacro -%}
{%- macro json(column) %}{{ column }} jsonb{% endmacro -%}
{%- macro flag(column) %}{{ column }} boolean{% endmacro -%}
{%- macro before(at, seconds) %}{{ at }} - make_interval(secs => {{ seconds }}){% endmacro -%}
{%- macro after(at, seconds) %}{{ at }} + make_interval(secs => {{ seconds }}){% endmacro -%}
{%- macro entries(document, member) %}jsonb_each({{ document }} -> '{{ member }}'){% endmacro -%}
{%- macro member(document, name) %}{{ document }} ->> '{{ name }}'{% endmacro -%}
{%- macro is_one_of(status, list) %}(p.vocabulary -> '{{ list }}' ? {{ status }}) is true{% endmacro -%}
{#- Reads the facts of one subject, and the reason that `branches` find; a null key reads nothing. `offset 0` keeps the planner from a join, which
    would read the facts of all subjects that ever were. `once`: compute all facts first, once, instead of each time a branch asks for one. -#}
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
{#- Reads the attempts only when a branch asks for them: they are expensive for many subjects, and seldom needed. -#}
{%- macro attempts_used_up(kind) %}{% if at_once %}(
                     select p.attempts_max <= g.attempts or p.attempts_per_day_max <= g.attempts_last_day
                     from {{ kind }}_facts g where g.subject_id = f.subject_id)
                 {%- else %}p.attempts_max <= f.attempts or p.attempts_per_day_max <= f.attempts_last_day{% endif %}{% endmacro -%}
{%- macro short_json(column, characters) %}{{ column }} jsonb check (length({{ column }}::text) <= {{ characters }}){% endmacro -%}
{%- macro short_id(column) %}{{ column }} {{ id }} check (length({{ column }}::text) <= 1000){% endmacro -%}
{%- macro short_text(column, characters) %}{{ column }} text check (length({{ column }}) <= {{ characters }}){% endmacro -%}
{#- On SQLite, a constraint at the end of a table, with the comma before it; PostgreSQL needs none. -#}
{%- macro at_most(what, bytes, columns) %}{% endmacro -%}
{%- macro whole_number(column) %}{{ column }} integer{% endmacro -%}
{%- macro reference(column, table) %}{{ column }} {{ id }} references {{ table }}{% endmacro -%}
{#- A reference to a table that is created later; its foreign key is added with the triggers. -#}
{%- macro forward_reference(column, table) %}{{ column }} {{ id }}{% endmacro -%}
{#- Joins each row with at most so many rows of a table, read by an index in this order. -#}
{%- macro some_of(table, name, condition, order, most) %}cross join lateral (
        select * from {{ table }} {{ name }} where {{ condition }} order by {{ order }} limit {{ most }}) {{ name }}{% endmacro -%}
{#- Joins each row with those that meet a condition, which `offset 0` looks up one by one. -#}
{%- macro those_of(view, name, condition) %}cross join lateral (select * from {{ view }} {{ name }} where {{ condition }} offset 0) {{ name }}{% endmacro -%}
{#- Joins a subject with the ledger's open row of it, if there is one. PostgreSQL looks an aggregate up for each subject, and leaves it out where no
    column of it is asked for. A join would compare each subject with each open row, where the last `analyze` saw none. -#}
{%- macro open_recovery(kind, subject, condition="true") %}left join lateral (
    select (array_agg(o.id))[1] as id, max(o.action) as action, bool_or(o.blocked_subject) as blocked_subject, max(o.since) as since
    from open_recoveries o where o.kind = '{{ kind }}' and o.subject_id = {{ subject }} and {{ condition }}
) o on true{% endmacro -%}
{#- The unended runs of the steps `s` that a query finds, of a view each half of which PostgreSQL reads for one step. -#}
{%- macro runs_of_steps(steps, condition) %}select r.run_id from {{ steps }} {{ those_of("worked_steps", "r", "r.id = s.id") }}
        where {{ condition }}{% endmacro -%}
{#- The latest runs of each wake that a query finds: a host's history may be long, and a join would read all of it. -#}
{%- macro runs_of_wakes(condition) %}select r.id from wakes w {{ some_of("runs", "r", "r.wake_id = w.id", "r.created_at desc, r.id", 50) }}
        where {{ condition }}{% endmacro -%}
{#- Whether a value is one of those of a query, which is asked once. Of an `exists` the planner may expect one row where thousands come, and would
    then read them anew for each value. Of an array it expects ten, and hashes them, however many come. -#}
{%- macro is_in(column, query, value) %}{{ value }} in (select unnest(array(select {{ column }} from {{ query }}))){% endmacro -%}
{#- Prints a time for people. -#}
{%- macro minute(at) %}to_char({{ at }} at time zone 'UTC', 'YYYY-MM-DD HH24:MI'){% endmacro -%}
{#- Makes the function that locks a subject and reads its facts, in one round trip. Locking and reading stay two statements: each statement
    of a volatile function sees what is committed when it begins, so the facts are read after the lock. An agent or issue that somebody else
    holds is null. A host's facts may ask the setting
    sweep.facts_of whether one subject is read. -#}
{%- macro take(kind, lock, locks_runs=false) %}create function take_{{ kind }}(wanted id) returns setof {{ kind }}_decided_facts language plpgsql as $$
#variable_conflict use_variable
declare
    agent id;
    issue id;
    is_held boolean;
    facts {{ kind }}_decided_facts;
begin
    {{ lock }};
    is_held := found{% if locks_runs %} and lock_runs('{{ kind }}', wanted){% endif %};
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
{%- macro hour(at) %}date_trunc('hour', {{ at }} at time zone 'UTC'){% endmacro -%}
