//! Which values the columns of a database may hold, as far as its schema lists them, and which they hold.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};
use regex::Regex;

use crate::store::Db;

/// The listed values of each column, by the names of its table and its own; of one without a list none.
pub type ColumnValues = BTreeMap<(String, String), BTreeSet<String>>;

/// In SQLite a list stands in the text of its table only.
static LIST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?i)\bcheck\s*\(\s*"?(\w+)"?\s+in\s*\(([^()]*)\)\s*\)"#).expect("a regular expression")
});

/// Lists the columns of all tables in a schema of PostgreSQL's, or in a file.
pub fn listed(db: &mut Db, schema: &str) -> QueryResult<ColumnValues> {
    const OF_POSTGRES: &str = include_str!("values.postgres.sql");
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

/// As a row holds it.
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
pub fn held(db: &mut Db, columns: &ColumnValues) -> QueryResult<ColumnValues> {
    let mut values = ColumnValues::new();
    for (table, column) in columns.keys() {
        let [of_table, of_column] = [table, column].map(|name| format!("\"{}\"", name.replace('"', "\"\"")));
        let texts = super::texts(db, &format!("SELECT DISTINCT {of_column} FROM {of_table}"))?;
        values.insert((table.clone(), column.clone()), texts.into_iter().collect());
    }
    Ok(values)
}
