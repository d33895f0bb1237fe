//! P12, P13: whatever happens between a sweep and its database, the sweep completes or ends with a truthful report, and
//! the next one finishes.

mod before_a_sweep;
mod crashes;
mod cut_connections;
mod failover;
mod few_connections;
mod pgbouncer;
mod silent_servers;
mod stopped_servers;

const DONE: i32 = 0;
const SOME_FAILED: i32 = 1;
const UNAVAILABLE: i32 = 69;
const BUSY: i32 = 75;
