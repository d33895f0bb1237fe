//! What stands in a database, as texts that can be compared: its schema, and its rows.

mod values;

use std::collections::{BTreeMap, BTreeSet};

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use crate::store::Db;
pub use values::{ColumnValues, held, listed};

/// Everything that a migration can make, one line each, its schema first; on SQLite the schema is empty.
pub fn catalog(db: &mut Db) -> QueryResult<BTreeSet<String>> {
    const OF_POSTGRES: &str = include_str!("snapshot/catalog.sql");
    const OF_SQLITE: &str = "SELECT ' ' || type || ' ' || name || ' ' || coalesce(sql, '') FROM main.sqlite_master";
    let lines: Vec<String> = match db {
        Db::Postgres(db) => sql::<Text>(OF_POSTGRES).load(db)?,
        Db::Sqlite(db) => sql::<Text>(OF_SQLITE).load(db)?,
    };
    Ok(lines.into_iter().collect())
}

/// What is wrong with the rights in sweep's schema, in sentences. A file has none.
pub fn rights(db: &mut Db) -> QueryResult<Vec<String>> {
    match db {
        Db::Postgres(db) => sql::<Text>(include_str!("snapshot/rights.sql")).load(db),
        Db::Sqlite(_) => Ok(Vec::new()),
    }
}

/// The rows of each table by their primary keys, each as one text. A table of PostgreSQL's schema `public` is called by
/// its name alone, and the parts of one that is partitioned are not called anything.
pub type Rows = BTreeMap<String, BTreeMap<String, String>>;

/// The rows of all tables that this role can see.
pub fn rows(db: &mut Db) -> QueryResult<Rows> {
    let rows = |db: &mut Db, (table, query): (String, String)| {
        let rows: Vec<(String, String)> = match db {
            Db::Postgres(db) => sql::<(Text, Text)>(&query).load(db)?,
            Db::Sqlite(db) => sql::<(Text, Text)>(&query).load(db)?,
        };
        Ok((table, rows.into_iter().collect()))
    };
    queries(db)?.into_iter().map(|query| rows(db, query)).collect()
}

/// The first column of a query's rows, those without a value left out.
pub fn texts(db: &mut Db, query: &str) -> QueryResult<Vec<String>> {
    let query = format!("WITH answer (value) AS (\n{query}\n) SELECT CAST(value AS text) FROM answer");
    let rows: Vec<Option<String>> = match db {
        Db::Postgres(db) => sql::<Nullable<Text>>(&query).load(db)?,
        Db::Sqlite(db) => sql::<Nullable<Text>>(&query).load(db)?,
    };
    Ok(rows.into_iter().flatten().collect())
}

/// How many there are.
pub fn count(db: &mut Db) -> QueryResult<i64> {
    let of_each = queries(db)?.into_iter().map(|(_, query)| {
        let count = format!("SELECT count(*) FROM ({query}) AS counted");
        match db {
            Db::Postgres(db) => sql::<BigInt>(&count).get_result::<i64>(db),
            Db::Sqlite(db) => sql::<BigInt>(&count).get_result(db),
        }
    });
    of_each.sum()
}

/// Each table, and what reads its rows as texts. A row of a table without a key is its own.
fn queries(db: &mut Db) -> QueryResult<Vec<(String, String)>> {
    const OF_POSTGRES: &str = include_str!("snapshot/rows.postgres.sql");
    const OF_SQLITE: &str = include_str!("snapshot/rows.sqlite.sql");
    match db {
        Db::Postgres(db) => sql::<(Text, Text)>(OF_POSTGRES).load(db),
        Db::Sqlite(db) => sql::<(Text, Text)>(OF_SQLITE).load(db),
    }
}
