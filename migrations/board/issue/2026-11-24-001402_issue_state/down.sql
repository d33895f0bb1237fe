drop view issue_work_state;
drop view issue_details;
drop view issue_states;
drop view issue_reasons;
drop view if exists issue_outlines;
drop view escalated_issues;
drop view issue_decided_facts;
