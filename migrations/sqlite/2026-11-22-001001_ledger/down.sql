drop table notifications;
drop table failures;
drop table exemptions;
drop table recoveries;
drop table sweeps;
