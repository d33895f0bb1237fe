drop view if exists step_work_state;
drop view if exists step_details;
drop view if exists step_states;
drop view if exists step_reasons;
drop view if exists step_outlines;
drop view if exists step_decided_facts;
