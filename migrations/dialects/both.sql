{#- Macros that both databases share. -#}
{#- Reads a few rows of a query: enough to tell that there is one. An issue may have many wakes and many sessions; reading all wakes for each
    session would cost the product of both numbers. -#}
{%- macro a_few(query, most=50) %}select * from ({{ query }} limit {{ most }}) a_few{% endmacro -%}
{#- The orders, as in the indexes, in which the first plans and steps of an issue are read. -#}
{%- macro plan_order(of="") %}(case {{ of }}status when 'executing' then 0 when 'stalled' then 0 else 1 end){% endmacro -%}
{%- macro step_order(of="") %}(case {{ of }}status when 'in_progress' then 0 when 'pending' then 1 else 2 end), {{ of }}position{% endmacro -%}
