drop view if exists session_work_state;
drop view if exists session_details;
drop view if exists session_states;
drop view if exists session_reasons;
drop view if exists session_outlines;
drop view if exists session_decided_facts;
