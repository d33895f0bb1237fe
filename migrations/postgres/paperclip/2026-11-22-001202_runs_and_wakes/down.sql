drop view wakes;
drop function insert_wake;
drop view issue_histories;
drop view issue_responsibles;
drop function open_finalization_since, is_conversation;
drop view unserved_continuations;
drop view pending_wakes;
drop view runs;
