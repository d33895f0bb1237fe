alter table sweeps drop column exit_code, drop column partial, drop column policy;
drop table failures;
drop table exemptions;
