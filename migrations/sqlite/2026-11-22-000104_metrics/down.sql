drop index sweeps_counted;
drop index recoveries_created_at;
drop index sweeps_succeeded;
drop index sweeps_whole_by_shard;
drop index sweeps_whole;
alter table sweeps drop column ledger_until;
alter table sweeps drop column ledger_counts;
