drop view issue_work_state;
