drop view if exists wake_pickups;
drop view if exists untaken_wakes;
drop view if exists pending_wakes;
drop view comments;
drop view wakes;
drop trigger update_issue on issues;
drop view runs;
drop function insert_comment, insert_wake, update_issue, enter_state;
