drop view if exists open_issues;
drop view if exists issues;
drop view if exists signs_of_life;
drop view if exists agents;
drop view if exists paused_queues;
drop view if exists host_behavior;
