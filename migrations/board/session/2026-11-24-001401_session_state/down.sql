drop view session_work_state;
