drop table {{ own }}notifications;
drop table {{ own }}failures;
drop table {{ own }}tenant_exemptions;
drop table {{ own }}exemptions;
drop table {{ own }}policy;
drop table {{ own }}recoveries;
drop table {{ own }}sweeps;
drop table {{ own }}host;
