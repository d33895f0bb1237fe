drop view issue_work_state;
drop view escalated_issues;
drop view agent_names;
drop view issue_decided_facts;
