drop view issue_work_state;
drop view issue_details;
drop view issue_states;
drop view issue_reasons;
{%- if one_by_one %}
drop view issue_outlines;
{%- endif %}
drop view escalated_issues;
{{ drop_take("issue") }}
drop view issue_decided_facts;
