{%- if sqlite -%}
-- All that up.sql makes is temporary: there is nothing to undo.
{%- else -%}
drop view if exists {% for relation in relations %}{{ relation.name }}{{ ", " if not loop.last }}{% endfor %};
drop function if exists {% for write in functions %}{{ write }}{{ ", " if not loop.last }}{% endfor %};
{%- endif %}
