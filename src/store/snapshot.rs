//! What stands in a database, as texts that can be compared: its schema, and its rows.

use std::collections::{BTreeMap, BTreeSet};

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::Db;

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

/// The rows of each table, each as one text. A table of PostgreSQL's schema `public` is called by its name alone.
pub type Rows = BTreeMap<String, Vec<String>>;

/// The rows of all tables that this role can see.
pub fn rows(db: &mut Db) -> QueryResult<Rows> {
    let rows = |db: &mut Db, (table, query): (String, String)| {
        let rows: Vec<String> = match db {
            Db::Postgres(db) => sql::<Text>(&query).load(db)?,
            Db::Sqlite(db) => sql::<Text>(&query).load(db)?,
        };
        Ok((table, rows))
    };
    queries(db)?.into_iter().map(|query| rows(db, query)).collect()
}

/// Each table, and what reads its rows as texts, in an order of their own.
fn queries(db: &mut Db) -> QueryResult<Vec<(String, String)>> {
    const OF_POSTGRES: &str = "SELECT CASE nspname WHEN 'public' THEN relname ELSE nspname || '.' || relname END, \
        format('SELECT t::text FROM %I.%I t ORDER BY 1', nspname, relname) \
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE relkind = 'r' AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg\\_%'";
    // quote() tells a number from a text, and null from both.
    const OF_SQLITE: &str = "SELECT m.name, 'SELECT ' || group_concat('quote(\"' || replace(c.name, '\"', '\"\"') || '\")', ' || '', '' || ') \
        || ' FROM main.\"' || replace(m.name, '\"', '\"\"') || '\" ORDER BY 1' \
        FROM main.sqlite_master m JOIN pragma_table_info(m.name, 'main') c \
        WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' GROUP BY m.name";
    match db {
        Db::Postgres(db) => sql::<(Text, Text)>(OF_POSTGRES).load(db),
        Db::Sqlite(db) => sql::<(Text, Text)>(OF_SQLITE).load(db),
    }
}
