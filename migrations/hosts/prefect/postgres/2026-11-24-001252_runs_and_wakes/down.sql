drop view if exists wake_pickups;
drop view if exists untaken_wakes;
drop view if exists pending_wakes;
drop view if exists comments;
drop view if exists wakes;
drop trigger if exists update_issue on issues;
drop view if exists runs;
drop function if exists insert_comment, insert_wake, update_issue, enter_state;
