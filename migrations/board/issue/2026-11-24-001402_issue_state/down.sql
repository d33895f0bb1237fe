drop view if exists issue_work_state;
drop view if exists issue_details;
drop view if exists issue_states;
drop view if exists issue_reasons;
drop view if exists issue_outlines;
drop view if exists escalated_issues;
drop view if exists issue_decided_facts;
