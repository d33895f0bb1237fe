drop view false_rescues;
drop view session_work_state;
drop view step_work_state;
drop view issue_work_state;
