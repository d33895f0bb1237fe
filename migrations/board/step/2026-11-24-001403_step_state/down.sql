drop view step_work_state;
drop view step_details;
drop view step_states;
drop view step_reasons;
{%- if one_by_one %}
drop view step_outlines;
{%- endif %}
{{ drop_take("step") }}
drop view step_decided_facts;
