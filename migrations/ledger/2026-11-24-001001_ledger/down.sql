drop table notifications;
drop table failures;
drop table exemptions;
drop table policy;
drop table recoveries;
drop table sweeps;
drop table host;
