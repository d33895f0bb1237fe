//! The databases: PostgreSQL and SQLite behind one set of queries.
//!
//! Which one it is (`Dialect`) matters where rows are locked, transactions begin, schemas are made or catalogs are
//! read. Every lock is taken with SKIP LOCKED: a sweep never waits for a row while it holds another. What remains are
//! foreign-key checks, and for those `lock_timeout` is shorter than the server's `deadlock_timeout`: the sweep gives
//! way, its host is never the victim.

pub mod connect;
pub mod db;
pub mod hosts;
pub mod read;
pub mod work;

pub use connect::open::{Store, Url};
pub use db::Db;
pub use db::connection::{Abort, Access, DbConnection, Durable, Ending, Finish, Timeouts};
pub use db::errors::Refused;
pub use db::lists::Label;
pub use db::types::IdType;
pub use db::written::Writes;
pub use hosts::rights::Purpose;
pub use work::candidates::Nominated;
pub(crate) use work::subject::for_kind;
pub use work::subject::{Lock, Subject, has_any, read_alone, read_together, take_alone};
