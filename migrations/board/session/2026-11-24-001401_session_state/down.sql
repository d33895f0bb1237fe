drop view session_work_state;
drop view session_decided_facts;
