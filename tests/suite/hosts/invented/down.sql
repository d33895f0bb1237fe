drop view comments, wakes, runs, issues, agents, host_behavior;
drop function insert_comment, insert_wake, update_issue;
drop table wake_runs;
