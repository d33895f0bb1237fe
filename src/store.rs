//! The databases: PostgreSQL and SQLite behind one set of queries.
//!
//! Only `lock`, `catalog` and `connection` know which one it is: how rows are locked, and how a transaction begins.
//! Every lock is taken with SKIP LOCKED: a sweep never waits for a row while it holds another. What remains are
//! foreign-key checks, and for those `lock_timeout` is shorter than the server's `deadlock_timeout`: the sweep gives
//! way, its host is never the victim.

mod after;
pub mod attention;
pub mod beginnings;
mod board_rows;
mod boards;
pub mod candidates;
mod catalog;
mod columns;
mod connection;
pub mod contract;
pub mod counts;
pub mod databases;
mod db;
pub mod errors;
pub mod exemptions;
pub mod find;
pub mod guarded;
mod guest;
pub mod host_steps;
pub mod hosts;
pub mod ids;
pub mod issues;
mod label;
pub mod latest;
pub mod ledger;
pub mod left_issues;
pub mod links;
pub mod listen;
mod lock;
pub mod metrics;
pub mod migrate;
pub mod nulls;
pub mod open;
pub mod opening;
pub mod outbox;
pub mod quarantine;
mod requests;
pub mod rights;
mod rows;
pub mod sandbox;
pub mod schema;
mod sessions;
mod shard;
pub mod snapshot;
pub mod status;
pub mod steps;
mod subject;
pub mod supervision;
mod totals;
pub mod types;
pub mod wakes;
mod written;

pub use candidates::Nominated;
pub use connection::{Abort, Access, DbConnection, Durable, End, Finish, Timeouts};
pub use db::Db;
pub use label::Label;
pub use lock::Lock;
pub(crate) use subject::for_kind;
pub use subject::{Subject, has_any, read_alone, read_together, take_alone};
pub use written::Writes;
