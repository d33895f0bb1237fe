alter table sweeps drop column shard, drop column shards, drop column narrowed;
drop table notifications;
