drop view comments;
drop view wakes;
drop view runs;
drop view issues;
drop view agents;
drop view host_behavior;
drop function insert_comment, insert_wake, update_issue;
drop table wake_jobs;
