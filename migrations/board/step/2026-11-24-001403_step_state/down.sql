drop view step_work_state;
