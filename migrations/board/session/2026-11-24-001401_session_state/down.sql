drop view session_work_state;
{{ drop_take("session") }}
drop view session_decided_facts;
