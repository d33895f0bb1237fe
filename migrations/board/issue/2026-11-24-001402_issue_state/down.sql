drop view issue_work_state;
drop view escalated_issues;
drop view agent_names;
{{ drop_take("issue") }}
drop view issue_decided_facts;
