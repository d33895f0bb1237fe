//! A database for the real server, in the throw-away PostgreSQL that `tests/postgres` started, and queries about it.

use std::sync::atomic::{AtomicUsize, Ordering};

use diesel::connection::SimpleConnection;
use diesel::sql_types::Text;
use diesel::{Connection, PgConnection, QueryableByName, RunQueryDsl};
use serde_json::Value;

use crate::setting;

pub struct Database {
    pub name: String,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    value: String,
}

impl Database {
    /// An empty database, in place of one of this name that an earlier run left.
    pub fn new() -> Database {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let name = format!("sweep_hosts_{}_{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let mut server = connect(&setting("TEST_DATABASE_URL"));
        run(&mut server, &format!("drop database if exists {name} with (force)"));
        run(&mut server, &format!("create database {name} template template0"));
        Database { name }
    }

    /// The URL by the server's socket, where every role is trusted.
    pub fn url(&self) -> String {
        setting("TEST_DATABASE_URL").replacen("/postgres?", &format!("/{}?", self.name), 1)
    }

    /// Gives the database, and what stands in its schema `public`, to a role that may create databases and is no
    /// superuser. Returns the URL with that role.
    pub fn hand_over(&self) -> String {
        run(&mut self.connect(), include_str!("../hand-over.sql"));
        format!("{}&user=sweep_test_host", self.url())
    }

    /// The URL by which Paperclip connects.
    pub fn tcp_url(&self) -> String {
        let (password, port) = (setting("TEST_POSTGRES_PASSWORD"), setting("TEST_POSTGRES_PORT"));
        format!("postgres://postgres:{password}@127.0.0.1:{port}/{}", self.name)
    }

    pub fn connect(&self) -> PgConnection {
        connect(&self.url())
    }

    /// The rows of a query, each as an object.
    pub fn rows(&self, sql: &str) -> Vec<Value> {
        rows(&mut self.connect(), sql)
    }

    /// The first column of the one row of a query; None: no row, or null.
    pub fn text(&self, sql: &str) -> Option<String> {
        let mut found = self.rows(&format!("select cast(({sql}) as text) as value"));
        found.pop().and_then(|row| row["value"].as_str().map(str::to_owned))
    }

    /// Changes rows, and fails if it changes none: that would be no premise of a test.
    pub fn change(&self, sql: &str) {
        let changed =
            diesel::sql_query(sql).execute(&mut self.connect()).unwrap_or_else(|error| panic!("{error}: {sql}"));
        assert!(changed > 0, "no row was changed: {sql}");
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Ok(mut server) = PgConnection::establish(&setting("TEST_DATABASE_URL")) {
            let _ = server.batch_execute(&format!("drop database if exists {} with (force)", self.name));
        }
    }
}

fn connect(url: &str) -> PgConnection {
    PgConnection::establish(url).unwrap_or_else(|error| panic!("connecting: {error}"))
}

pub fn rows(db: &mut PgConnection, sql: &str) -> Vec<Value> {
    let sql = format!("select row_to_json(rows)::text as value from ({sql}) rows");
    let found: Vec<Row> = diesel::sql_query(&sql).load(db).unwrap_or_else(|error| panic!("{error}: {sql}"));
    found.iter().map(|row| serde_json::from_str(&row.value).expect("JSON")).collect()
}

fn run(db: &mut PgConnection, sql: &str) {
    db.batch_execute(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
}
