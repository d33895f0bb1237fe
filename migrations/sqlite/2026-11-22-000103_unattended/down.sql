alter table sweeps drop column shard;
alter table sweeps drop column shards;
alter table sweeps drop column narrowed;
drop table notifications;
