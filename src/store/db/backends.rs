//! One connection: to PostgreSQL or to SQLite.

use diesel::pg::PgConnection;
use diesel::sqlite::SqliteConnection;

#[derive(diesel::MultiConnection)]
pub enum Db {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}
