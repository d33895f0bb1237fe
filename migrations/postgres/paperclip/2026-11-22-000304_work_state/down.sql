drop view false_rescues;
drop view issue_work_state;
drop view policy;
