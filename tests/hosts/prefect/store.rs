//! Prefect's database: one on PostgreSQL, or a file.

use std::path::PathBuf;
use std::process::Command;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use tempfile::TempDir;

use crate::database::Database;
use crate::program::succeed;

pub enum Store {
    Postgres(Database),
    Sqlite(TempDir),
}

impl Store {
    pub fn on_postgresql() -> Store {
        Store::Postgres(Database::new())
    }

    pub fn on_sqlite() -> Store {
        Store::Sqlite(tempfile::tempdir().expect("a directory"))
    }

    fn file(directory: &TempDir) -> PathBuf {
        directory.path().join("prefect.db")
    }

    /// The URL by which Prefect connects.
    pub fn url_of_prefect(&self) -> String {
        match self {
            Store::Postgres(database) => database.tcp_url().replacen("postgres://", "postgresql+asyncpg://", 1),
            Store::Sqlite(directory) => format!("sqlite+aiosqlite:///{}", Store::file(directory).display()),
        }
    }

    /// The URL by which the owner connects.
    pub fn url(&self) -> String {
        match self {
            Store::Postgres(database) => database.url(),
            Store::Sqlite(directory) => format!("sqlite://{}", Store::file(directory).display()),
        }
    }

    /// The URL by which a sweep connects: on PostgreSQL with the role of deploy/postgres/role.sql.
    pub fn url_of_sweep(&self) -> String {
        match self {
            Store::Postgres(_) => format!("{}&user=sweeper", self.url()),
            Store::Sqlite(_) => self.url(),
        }
    }

    fn sqlite(directory: &TempDir) -> SqliteConnection {
        let mut db = SqliteConnection::establish(&Store::file(directory).display().to_string()).expect("a file");
        // The server may write for some time, and only the server writes the log back.
        db.batch_execute("pragma busy_timeout = 30000; pragma wal_autocheckpoint = 0").expect("a file");
        db
    }

    /// The first column of the one row of a query; None: no row, or null.
    pub fn text(&self, query: &str) -> Option<String> {
        match self {
            Store::Postgres(database) => database.text(query),
            Store::Sqlite(directory) => {
                let query = sql::<Nullable<Text>>(&format!("select cast(({query}) as text)"));
                query.get_result(&mut Store::sqlite(directory)).expect("a row")
            }
        }
    }

    /// The present time in the API's form.
    pub fn now(&self) -> String {
        let now = match self {
            Store::Postgres(_) => "select to_json(now()) #>> '{}'",
            Store::Sqlite(_) => "select strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
        };
        self.text(now).expect("a time")
    }

    /// Makes times older in the rows for which `condition` holds.
    pub fn make_older(&self, minutes: f64, table: &str, columns: &[&str], condition: &str) {
        let older = |column: &&str| match self {
            Store::Postgres(_) => format!("{column} = {column} - interval '{minutes} minutes'"),
            Store::Sqlite(_) => {
                format!("{column} = strftime('%Y-%m-%d %H:%M:%f000', {column}, '-{minutes} minutes')")
            }
        };
        let changes = columns.iter().map(older).collect::<Vec<_>>().join(", ");
        self.run(&format!("update {table} set {changes} where {condition}"));
    }

    pub fn run(&self, statements: &str) {
        match self {
            Store::Postgres(database) => database.connect().batch_execute(statements),
            Store::Sqlite(directory) => Store::sqlite(directory).batch_execute(statements),
        }
        .unwrap_or_else(|error| panic!("{error}: {statements}"));
    }

    /// The whole schema, without rows.
    pub fn schema(&self) -> String {
        match self {
            Store::Postgres(database) => {
                let dumped = succeed(Command::new("pg_dump").args(["--schema-only", "--dbname", &database.url()]));
                // A newer pg_dump begins and ends with a random word.
                dumped.lines().filter(|line| !line.contains("restrict ")).collect::<Vec<_>>().join("\n")
            }
            Store::Sqlite(directory) => {
                let all = sql::<Nullable<Text>>(
                    "select group_concat(type || ' ' || name || ' ' || coalesce(sql, ''), char(10))
                     from (select * from sqlite_master order by type, name)",
                );
                all.get_result::<Option<String>>(&mut Store::sqlite(directory)).expect("a row").unwrap_or_default()
            }
        }
    }
}
