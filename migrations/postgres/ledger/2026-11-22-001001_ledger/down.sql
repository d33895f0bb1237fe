drop view session_policy;
drop view policy;
drop view policy_limits;
drop table notifications;
drop table failures;
drop table exemptions;
drop table recoveries;
drop table sweeps;
