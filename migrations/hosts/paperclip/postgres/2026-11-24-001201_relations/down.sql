drop trigger log_recovery on recoveries;
drop function log_recovery;
drop view sessions;
drop view issue_exclusions;
drop view comments;
drop view issues;
drop view agents;
drop view host_behavior;
drop function refuse_update, insert_comment, update_issue, has_column, is_too_large, as_id, within_calendar;
