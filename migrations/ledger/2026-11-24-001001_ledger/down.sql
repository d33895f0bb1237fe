drop table if exists {{ own }}notifications;
drop table if exists {{ own }}failures;
drop table if exists {{ own }}tenant_exemptions;
drop table if exists {{ own }}exemptions;
drop table if exists {{ own }}policy;
drop table if exists {{ own }}recoveries;
drop table if exists {{ own }}sweeps;
drop table if exists {{ own }}host;
