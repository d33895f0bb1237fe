-- The ledger takes whatever kinds of subject there are: a new one is no change of its tables.
alter table recoveries drop constraint recoveries_kind_check;
