drop index sweeps_counted;
alter table sweeps drop column ledger_until, drop column ledger_counts;
drop index recoveries_created_at, sweeps_succeeded, sweeps_whole_by_shard, sweeps_whole;
