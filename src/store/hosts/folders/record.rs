//! Whose database it is, as `sweep migrate` recorded it: the table `host` has one row, with the host's name; of a host
//! that is not built in its files as well, so that a sweep needs no folder; and which relations there were, so that one
//! that is gone is no kind of work that there is none of.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Nullable, Text};

use super::{Host, named};
use crate::conclusion::config;
use crate::store::Db;
use crate::store::hosts::catalog::{self, VERSIONS};
use crate::text::misread;

/// The table.
pub const RECORD: &str = "host";

/// None: the row is not there, since nothing is, or because somebody has deleted it. Asked with names that need no
/// path.
pub fn recorded(db: &mut Db) -> Result<Option<Arc<Host>>> {
    if !catalog::exists(db, RECORD).context(READING)? {
        return Ok(None);
    }
    match db {
        Db::Postgres(db) => sql::<Row>("SELECT name, files::text FROM sweep.host").get_result(db),
        Db::Sqlite(db) => sql::<Row>("SELECT name, files FROM host").get_result(db),
    }
    .optional()
    .context(READING)?
    .map(host_of)
    .transpose()
}

/// That of another program's file, in which sweep keeps its ledger.
pub fn recorded_by_guest(db: &mut SqliteConnection) -> Result<Option<Arc<Host>>> {
    const IS_THERE: &str = "EXISTS (SELECT 1 FROM main.sqlite_master WHERE name = 'sweep_host')";
    if !diesel::select(sql::<Bool>(IS_THERE)).get_result::<bool>(db).context(READING)? {
        return Ok(None);
    }
    let row = sql::<Row>("SELECT name, files FROM main.sweep_host").get_result(db).optional().context(READING)?;
    row.map(host_of).transpose()
}

const READING: &str = "reading whose database it is";

type Row = (Text, Nullable<Text>);

fn host_of((name, files): (String, Option<String>)) -> Result<Arc<Host>> {
    Ok(match files {
        None => named(&name).ok_or_else(|| {
            let version = env!("CARGO_PKG_VERSION");
            config(format!("this database's host is {name:?}, which sweep {version} does not know: upgrade sweep"))
        })?,
        Some(files) => {
            let broken = |why: String| config(format!("the table host has a broken host: {why}"));
            let files: BTreeMap<String, String> =
                serde_json::from_str(&files).map_err(|error| broken(format!("files: {}", misread::json(&error))))?;
            Arc::new(Host::of(files).map_err(broken)?)
        }
    })
}

/// Those of the recorded tables and views that are gone.
pub fn gone(db: &mut Db) -> QueryResult<Vec<String>> {
    match db {
        Db::Postgres(db) => sql::<Text>(GONE).load(db),
        Db::Sqlite(db) => sql::<Text>(
            "SELECT value FROM host, json_each(relations) WHERE value NOT IN (SELECT name FROM sqlite_master) \
             ORDER BY 1",
        )
        .load(db),
    }
}

/// All that is recorded of a schema.
#[derive(QueryableByName)]
pub struct Recorded {
    /// Of the migrations that have run.
    #[diesel(sql_type = Array<Text>)]
    pub versions: Vec<String>,
    /// The relations that are gone.
    #[diesel(sql_type = Array<Text>)]
    pub gone: Vec<String>,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Nullable<Text>)]
    files: Option<String>,
}

impl Recorded {
    /// Of a schema on PostgreSQL that has both tables; None: one is empty, or it is no such schema.
    pub fn read(db: &mut Db) -> Result<Option<Recorded>> {
        let Db::Postgres(db) = db else { return Ok(None) };
        let query = format!(
            "SELECT ARRAY(SELECT version::text FROM sweep.{VERSIONS}) AS versions, ARRAY({GONE}) AS gone, name, \
             files::text FROM sweep.host"
        );
        let recorded = diesel::sql_query(query).get_result::<Recorded>(db).optional().context(READING)?;
        Ok(recorded.filter(|recorded| !recorded.versions.is_empty()))
    }

    pub fn host(&self) -> Result<Arc<Host>> {
        host_of((self.name.clone(), self.files.clone()))
    }
}

/// Those of the recorded tables and views, and what takes the subjects of a kind that has facts.
const GONE: &str = "SELECT 'sweep.' || relation FROM sweep.host, jsonb_array_elements_text(relations) relation \
    WHERE to_regclass('sweep.' || quote_ident(relation)) IS NULL \
    UNION ALL \
    SELECT 'sweep.' || take FROM sweep.host, jsonb_array_elements_text(relations) relation, \
        replace('take_' || relation, '_decided_facts', '') take \
    WHERE relation LIKE '%_decided_facts' AND NOT EXISTS ( \
        SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('sweep') AND proname = take) \
    ORDER BY 1";

/// As statements, to be run after all migrations.
pub fn statements(host: &Host, is_sqlite: bool) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let files = host.files_as_json().map_or("null".to_owned(), |files| literal(&files));
    let table = format!("{}{RECORD}", catalog::prefix(host, is_sqlite));
    let emptied = if is_sqlite { format!("delete from {table};\n") } else { String::new() };
    format!("\n{emptied}{};\n", insertion(&table, &literal(host.name()), &files, is_sqlite))
}

/// Replaces what is there; on PostgreSQL all but the database's id. In another program's file the table is a view,
/// which takes no upsert: on SQLite it is emptied before.
fn insertion(table: &str, name: &str, files: &str, is_sqlite: bool) -> String {
    let relations = match is_sqlite {
        true => "(select json_group_array(name) from sqlite_master where type in ('table', 'view'))",
        false => {
            "(select jsonb_agg(relname order by relname) from pg_class\n    \
             where relnamespace = 'sweep'::regnamespace and relkind in ('r', 'v'))"
        }
    };
    let replaced = match is_sqlite {
        true => "",
        false => {
            "\non conflict (only_row) do update\n    \
             set name = excluded.name, files = excluded.files, relations = excluded.relations"
        }
    };
    format!("insert into {table} (name, files, relations)\nvalues ({name}, {files}, {relations}){replaced}")
}

/// Of a host whose migrations have all run.
pub fn record(db: &mut Db, host: &Host) -> Result<()> {
    let (name, files) = (host.name(), host.files_as_json());
    let insertion = |name, files, is_sqlite| diesel::sql_query(insertion(RECORD, name, files, is_sqlite));
    match db {
        Db::Postgres(db) => {
            insertion("$1", "$2::jsonb", false).bind::<Text, _>(name).bind::<Nullable<Text>, _>(files).execute(db)
        }
        Db::Sqlite(db) => db.batch_execute(&format!("delete from {RECORD}")).and_then(|()| {
            insertion("?", "?", true).bind::<Text, _>(name).bind::<Nullable<Text>, _>(files).execute(db)
        }),
    }
    .context("writing whose database it is")
    .map(drop)
}

impl Host {
    /// None: every program of this version has them.
    pub(super) fn files_as_json(&self) -> Option<String> {
        (!self.is_built_in).then(|| serde_json::to_string(&self.files).expect("texts by their names"))
    }
}
