{#- Macros that both databases share. -#}
{#- Reads a few rows of a query: enough to tell that there is one. An issue may have many wakes and many sessions; reading all wakes for each
    session would cost the product of both numbers. -#}
{%- macro a_few(query, most=50) %}select * from ({{ query }} limit {{ most }}) a_few{% endmacro -%}
{#- The orders, as in the indexes, in which the first plans and steps of an issue are read. -#}
{%- macro plan_order(of="") %}(case {{ of }}status when 'executing' then 0 when 'stalled' then 0 else 1 end){% endmacro -%}
{%- macro step_order(of="") %}(case {{ of }}status when 'in_progress' then 0 when 'pending' then 1 else 2 end), {{ of }}position{% endmacro -%}
{#- True if the subject of a row, of a kind that this host has, is in progress; `offset` has it looked up, instead of all that are. -#}
{%- macro is_in_progress(row) %}(case {{ row }}.kind
{%- for kind in ["issue"] + (["step"] if steps else []) + (["session"] if sessions else []) %}
      when '{{ kind }}' then exists (select 1 from {{ kind }}_subjects s where s.subject_id = {{ row }}.subject_id limit 1 offset 0)
{%- endfor %}
      else false end){% endmacro -%}
