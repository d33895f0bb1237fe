//! The database itself: connections, types, errors, and how rows are read and written, for PostgreSQL and SQLite.

pub mod columns;
pub(super) mod connection;
pub mod dialect;
pub mod errors;
pub(super) mod lists;
pub mod schema;
pub mod types;
pub(super) mod written;

use diesel::pg::PgConnection;
use diesel::sqlite::SqliteConnection;

/// One connection: to PostgreSQL or to SQLite.
#[derive(diesel::MultiConnection)]
pub enum Db {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}
