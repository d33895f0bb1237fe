drop table plan_steps;
drop table plans;
drop table issues;
drop table agents;
