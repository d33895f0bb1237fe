//! Whose database it is, as `sweep migrate` recorded it: the table `host` has one row, with the host's name; of a host
//! that is not built in its files as well, so that a sweep needs no folder; and which relations there were, so that one
//! that is gone is no kind of work that there is none of.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};

use super::{Host, named};
use crate::conclusion::config;
use crate::store::{Db, catalog};

/// The table.
pub const RECORD: &str = "host";

/// None: the row is not there, since nothing is, or because somebody has deleted it. Asked with names that need no
/// path.
pub fn recorded(db: &mut Db) -> Result<Option<Arc<Host>>> {
    let reading = "reading whose database it is";
    if !catalog::exists(db, RECORD).context(reading)? {
        return Ok(None);
    }
    type Row = (String, Option<String>);
    let row: Option<Row> = match db {
        Db::Postgres(db) => sql::<(Text, Nullable<Text>)>("SELECT name, files::text FROM sweep.host").get_result(db),
        Db::Sqlite(db) => sql::<(Text, Nullable<Text>)>("SELECT name, files FROM host").get_result(db),
    }
    .optional()
    .context(reading)?;
    let Some((name, files)) = row else { return Ok(None) };
    let host = match files {
        None => named(&name).ok_or_else(|| {
            let version = env!("CARGO_PKG_VERSION");
            config(format!("this database's host is {name:?}, which sweep {version} does not know: upgrade sweep"))
        })?,
        Some(files) => {
            let files: BTreeMap<String, String> = serde_json::from_str(&files).context(reading)?;
            Arc::new(Host::of(files).map_err(|why| config(format!("the table host has a broken host: {why}")))?)
        }
    };
    Ok(Some(host))
}

/// Those of the recorded tables and views that are gone.
pub fn gone(db: &mut Db) -> QueryResult<Vec<String>> {
    match db {
        Db::Postgres(db) => sql::<Text>(
            "SELECT 'sweep.' || relation FROM sweep.host, jsonb_array_elements_text(relations) relation \
             WHERE to_regclass('sweep.' || quote_ident(relation)) IS NULL ORDER BY 1",
        )
        .load(db),
        Db::Sqlite(db) => sql::<Text>(
            "SELECT value FROM host, json_each(relations) WHERE value NOT IN (SELECT name FROM sqlite_master) \
             ORDER BY 1",
        )
        .load(db),
    }
}

/// As a statement, to be run after all migrations.
pub fn statement(host: &Host, is_sqlite: bool) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let files = host.files_as_json().map_or("null".to_owned(), |files| literal(&files));
    format!("\n{};\n", upsert(&literal(host.name()), &files, is_sqlite))
}

fn upsert(name: &str, files: &str, is_sqlite: bool) -> String {
    let relations = match is_sqlite {
        true => "(select json_group_array(name) from sqlite_master where type in ('table', 'view'))",
        false => {
            "(select jsonb_agg(relname order by relname) from pg_class\n    \
             where relnamespace = 'sweep'::regnamespace and relkind in ('r', 'v'))"
        }
    };
    format!(
        "insert into {RECORD} (name, files, relations)\nvalues ({name}, {files}, {relations})\non conflict (only_row) \
         do update set name = excluded.name, files = excluded.files, relations = excluded.relations"
    )
}

/// Of a host whose migrations have all run.
pub fn record(db: &mut Db, host: &Host) -> Result<()> {
    let (name, files) = (host.name(), host.files_as_json());
    match db {
        Db::Postgres(db) => {
            let statement = diesel::sql_query(upsert("$1", "$2::jsonb", false));
            statement.bind::<Text, _>(name).bind::<Nullable<Text>, _>(files).execute(db)
        }
        Db::Sqlite(db) => {
            let statement = diesel::sql_query(upsert("?", "?", true));
            statement.bind::<Text, _>(name).bind::<Nullable<Text>, _>(files).execute(db)
        }
    }
    .context("writing whose database it is")
    .map(drop)
}

impl Host {
    /// None: every program of this version has them.
    fn files_as_json(&self) -> Option<String> {
        (!self.is_built_in).then(|| serde_json::to_string(&self.files).expect("texts by their names"))
    }
}
