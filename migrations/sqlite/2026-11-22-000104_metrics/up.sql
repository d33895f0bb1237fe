-- What is asked after every sweep must not cost more as sweeps and their ledger grow.

create index sweeps_whole on sweeps (finished_at) where not narrowed and finished_at is not null;
create index sweeps_whole_by_shard on sweeps (shards, shard, finished_at) where not narrowed and finished_at is not null;
create index sweeps_succeeded on sweeps (shards, shard, finished_at)
    where not partial and ended = 'completed' and (exit_code is null or exit_code in (0, 2));
create index recoveries_created_at on recoveries (created_at);

-- A sweep that closes remembers how much the ledger has ever recorded: nobody counts it from the beginning again, and
-- the count stays when old rows are pruned.
alter table sweeps add column ledger_until text check (ledger_until like '____-__-__T__:__:__.___Z');  -- all rows of the ledger before it …
alter table sweeps add column ledger_counts text check (ledger_counts is null or json_valid(ledger_counts));  -- … by kind and action
create index sweeps_counted on sweeps (started_at) where ledger_until is not null;
