alter table sweeps drop column exit_code;
alter table sweeps drop column partial;
alter table sweeps drop column policy;
drop table failures;
drop table exemptions;
