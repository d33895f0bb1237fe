drop view session_work_state;
drop view session_details;
drop view session_states;
drop view session_reasons;
drop view if exists session_outlines;
drop view session_decided_facts;
