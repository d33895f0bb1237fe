drop table recoveries;
drop table sweeps;
