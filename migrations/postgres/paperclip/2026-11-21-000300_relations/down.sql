drop trigger log_recovery on recoveries;
drop function log_recovery;
drop view comments;
drop function insert_comment;
drop view issues;
drop function update_issue;
drop view agents;
