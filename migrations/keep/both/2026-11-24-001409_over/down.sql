drop view if exists notifications_over;
drop view if exists sweeps_over;
drop view if exists recoveries_over;
