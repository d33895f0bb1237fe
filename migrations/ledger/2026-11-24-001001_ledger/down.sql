drop table notifications;
drop table failures;
drop table exemptions;
drop view open_recoveries;
drop view board_texts;
drop table policy;
drop table recoveries;
drop table sweeps;
