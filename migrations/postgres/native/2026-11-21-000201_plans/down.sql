alter table runs drop column plan_step_id;
alter table wakes drop column plan_step_id;
drop table plan_steps;
drop table plans;
