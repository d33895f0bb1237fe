//! The database itself: connections, types, errors, and how rows are read and written, for PostgreSQL and SQLite.

pub(super) mod after;
pub(super) mod backends;
pub mod columns;
pub(super) mod connection;
pub mod dialect;
pub mod errors;
pub mod ids;
pub(super) mod label;
pub mod schema;
pub(super) mod shard;
pub mod types;
pub(super) mod written;
