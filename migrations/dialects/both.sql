{#- What is alike on both databases. -#}
{#- What is on its way to an issue beside a subject, of which there are many subjects as well: a few tell that something is. All of it for each of
    them would cost the number of the one times that of the other. -#}
{%- macro a_few(query, most=50) %}select * from ({{ query }} limit {{ most }}) a_few{% endmacro -%}
{#- The orders in which the first plans and steps of an issue are looked at, as indexes have them. -#}
{%- macro plan_order(of="") %}(case {{ of }}status when 'executing' then 0 when 'stalled' then 0 else 1 end){% endmacro -%}
{%- macro step_order(of="") %}(case {{ of }}status when 'in_progress' then 0 when 'pending' then 1 else 2 end), {{ of }}position{% endmacro -%}
