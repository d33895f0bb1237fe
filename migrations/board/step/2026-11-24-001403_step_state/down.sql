drop view step_work_state;
drop view step_details;
drop view step_states;
drop view step_reasons;
drop view if exists step_outlines;
drop view step_decided_facts;
