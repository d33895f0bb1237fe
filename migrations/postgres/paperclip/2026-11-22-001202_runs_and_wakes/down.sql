drop view wakes;
drop function insert_wake;
drop view issue_histories;
drop view pending_wakes;
drop view runs;
