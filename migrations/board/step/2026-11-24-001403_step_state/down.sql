drop view step_work_state;
drop view step_decided_facts;
