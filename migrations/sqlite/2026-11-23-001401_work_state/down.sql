drop view step_work_state;
drop view issue_work_state;
drop view session_work_state;
