drop view open_issues;
drop view issues;
drop view signs_of_life;
drop view agents;
drop view paused_queues;
drop view host_behavior;
