//! The promises of every sweep: P1 to P16 of `docs/promises.md`.

mod changed_after_scan;
mod database_clock;
mod dry_run;
mod killed_sweeps;
mod linked_work;
mod lock_then_read;
mod long_histories;
mod lost_commits;
mod network_faults;
mod old_statistics;
mod poison_rows;
mod random_histories;
mod rival_sweepers;
mod round_trips;
mod scan_cost;
mod secrets;
mod writes_as_seen;
