//! What stands in a database, as texts that can be compared: its schema, its rows, and the values that its columns may
//! hold and do.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use regex::Regex;

use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog::quoted;

/// Everything that a migration can make, one line each, its schema first; on SQLite the schema is empty.
pub fn catalog(db: &mut Db) -> QueryResult<BTreeSet<String>> {
    let lines = match db.dialect() {
        Dialect::Postgres => include_str!("snapshot/catalog.sql"),
        Dialect::Sqlite => "SELECT ' ' || type || ' ' || name || ' ' || coalesce(sql, '') FROM main.sqlite_master",
    };
    Ok(sql::<Text>(lines).load::<String>(db)?.into_iter().collect())
}

/// What is wrong with the rights in sweep's schema, in sentences. A file has none.
pub fn rights(db: &mut Db) -> QueryResult<Vec<String>> {
    match db.dialect() {
        Dialect::Postgres => sql::<Text>(include_str!("snapshot/rights.sql")).load(db),
        Dialect::Sqlite => Ok(Vec::new()),
    }
}

/// The rows of each table by their primary keys, each as one text. A table of PostgreSQL's schema `public` is called by
/// its name alone, and the parts of one that is partitioned are not called anything.
pub type Rows = BTreeMap<String, BTreeMap<String, String>>;

/// The rows of all tables that this role can see.
pub fn rows(db: &mut Db) -> QueryResult<Rows> {
    let queries = queries(db)?.into_iter();
    let rows = |(table, query): (String, String)| {
        let rows: Vec<(String, String)> = sql::<(Text, Text)>(&query).load(db)?;
        Ok((table, rows.into_iter().collect()))
    };
    queries.map(rows).collect()
}

/// The first column of a query's rows, those without a value left out.
pub fn texts(db: &mut Db, query: &str) -> QueryResult<Vec<String>> {
    let query = format!("WITH answer (value) AS (\n{query}\n) SELECT CAST(value AS text) FROM answer");
    let rows: Vec<Option<String>> = sql::<Nullable<Text>>(&query).load(db)?;
    Ok(rows.into_iter().flatten().collect())
}

/// How many rows there are in all tables.
pub fn count_rows(db: &mut Db) -> QueryResult<i64> {
    let queries = queries(db)?.into_iter();
    let counts = queries.map(|(_, query)| format!("SELECT count(*) FROM ({query}) AS counted"));
    counts.map(|count| sql::<BigInt>(&count).get_result::<i64>(db)).sum()
}

/// The query that reads the rows of each table as texts. A row of a table without a key is its own.
fn queries(db: &mut Db) -> QueryResult<Vec<(String, String)>> {
    let queries = match db.dialect() {
        Dialect::Postgres => include_str!("snapshot/rows.postgres.sql"),
        Dialect::Sqlite => include_str!("snapshot/rows.sqlite.sql"),
    };
    sql::<(Text, Text)>(queries).load(db)
}

/// The listed values of each column, by the names of its table and its own; of one without a list none.
pub type ColumnValues = BTreeMap<(String, String), BTreeSet<String>>;

/// A list of values in the text of a table of SQLite's, which has it nowhere else.
static LIST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)\bcheck\s*\(\s*"?(\w+)"?\s+in\s*\(([^()]*)\)\s*\)"#).expect("a regular expression")
});

/// Lists the columns of all tables in a schema of PostgreSQL's, or in a file.
pub fn listed_values(db: &mut Db, schema: &str) -> QueryResult<ColumnValues> {
    const OF_POSTGRES: &str = include_str!("snapshot/values.postgres.sql");
    const OF_SQLITE: &str = "SELECT m.name, c.name, m.sql FROM main.sqlite_master m \
        JOIN pragma_table_info(m.name, 'main') c WHERE m.type = 'table'";
    let mut values = ColumnValues::new();
    match db {
        Db::Postgres(db) => {
            type Row = (String, String, Option<String>);
            let of_schema = sql::<(Text, Text, Nullable<Text>)>(OF_POSTGRES).sql("SELECT to_regnamespace(");
            for (table, column, value) in of_schema.bind::<Text, _>(schema).sql("))").load::<Row>(db)? {
                values.entry((table, column)).or_default().extend(value);
            }
        }
        Db::Sqlite(db) => {
            for (table, column, text) in sql::<(Text, Text, Text)>(OF_SQLITE).load::<(String, String, String)>(db)? {
                let lists = LIST.captures_iter(&text).filter(|list| list[1].eq_ignore_ascii_case(&column));
                let items: Vec<String> =
                    lists.flat_map(|list| list[2].split(',').map(unquoted).collect::<Vec<_>>()).collect();
                values.entry((table, column)).or_default().extend(items);
            }
        }
    }
    Ok(values)
}

/// The value of a literal of SQL, as a row holds it.
fn unquoted(literal: &str) -> String {
    let literal = literal.trim();
    match literal.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        Some(text) => text.replace("''", "'"),
        None if literal.eq_ignore_ascii_case("false") => "0".to_owned(),
        None if literal.eq_ignore_ascii_case("true") => "1".to_owned(),
        None => literal.to_owned(),
    }
}

/// Reads the values that stand in these columns now.
pub fn held_values(db: &mut Db, columns: &ColumnValues) -> QueryResult<ColumnValues> {
    let mut values = ColumnValues::new();
    for (table, column) in columns.keys() {
        let texts = texts(db, &format!("SELECT DISTINCT {} FROM {}", quoted(column), quoted(table)))?;
        values.insert((table.clone(), column.clone()), texts.into_iter().collect());
    }
    Ok(values)
}
