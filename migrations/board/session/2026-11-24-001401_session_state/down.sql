drop view session_work_state;
drop view session_details;
drop view session_states;
drop view session_reasons;
{%- if one_by_one %}
drop view session_outlines;
{%- endif %}
{{ drop_take("session") }}
drop view session_decided_facts;
