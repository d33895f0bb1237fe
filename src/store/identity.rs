//! Which database this is, and what time it is there.

use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::Db;
use super::types::sql::Instant;

impl Db {
    /// Which database this is: the cluster's number and its name, or the file. A standby has its primary's.
    pub fn identity(&mut self) -> QueryResult<String> {
        const OF_POSTGRES: &str =
            "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || current_database()";
        const OF_SQLITE: &str = "SELECT file FROM pragma_database_list WHERE name = 'main'";
        match self {
            Db::Postgres(db) => sql::<Text>(OF_POSTGRES).get_result(db),
            Db::Sqlite(db) => sql::<Text>(OF_SQLITE).get_result(db),
        }
    }

    /// The database's clock.
    pub fn now(&mut self) -> QueryResult<DateTime<Utc>> {
        match self {
            Db::Postgres(db) => diesel::select(sql::<Instant>("clock_timestamp()")).get_result(db),
            Db::Sqlite(db) => diesel::select(sql::<Instant>("strftime('%Y-%m-%dT%H:%M:%fZ', 'now')")).get_result(db),
        }
    }
}
