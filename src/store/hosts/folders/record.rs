//! The record that `sweep migrate` makes of whose database it is: the table `host` has one row, with the host's name;
//! of a host that is not built in its files as well, so that a sweep needs no folder; and which relations there were,
//! so that one that is gone is no kind of work that there is none of.

use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Nullable, Text};

use super::{Host, named};
use crate::conclusion::config;
use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog::{self, VERSIONS};
use crate::text::misread;

/// The name of the table.
pub const RECORD: &str = "host";

const READING: &str = "reading whose database it is";

/// The row of the table `host`.
#[derive(QueryableByName)]
struct HostRow {
    #[diesel(sql_type = Text)]
    name: String,
    /// None: the host is built in.
    #[diesel(sql_type = Nullable<Text>)]
    files: Option<String>,
}

impl HostRow {
    fn host(&self) -> Result<Arc<Host>> {
        let HostRow { name, files } = self;
        Ok(match files {
            None => named(name).ok_or_else(|| {
                let version = env!("CARGO_PKG_VERSION");
                config(format!("this database's host is {name:?}, which sweep {version} does not know: upgrade sweep"))
            })?,
            Some(files) => {
                let broken = |why: String| config(format!("the table host has a broken host: {why}"));
                let files = serde_json::from_str(files);
                let files = files.map_err(|error| broken(format!("files: {}", misread::json(&error))))?;
                Arc::new(Host::from_files(files).map_err(broken)?)
            }
        })
    }
}

/// Reads whose database it is. None: the row is not there, since nothing is, or because somebody has deleted it. Asked
/// with names that need no path.
pub fn recorded(db: &mut Db) -> Result<Option<Arc<Host>>> {
    if !catalog::exists(db, RECORD).context(READING)? {
        return Ok(None);
    }
    let query = format!("SELECT name, CAST(files AS text) AS files FROM {}{RECORD}", db.dialect().schema());
    let row: Option<HostRow> = diesel::sql_query(query).get_result(db).optional().context(READING)?;
    row.map(|row| row.host()).transpose()
}

/// Reads whose file it is, where sweep keeps its ledger in another program's file.
pub fn recorded_by_guest(db: &mut SqliteConnection) -> Result<Option<Arc<Host>>> {
    const IS_THERE: &str = "EXISTS (SELECT 1 FROM main.sqlite_master WHERE name = 'sweep_host')";
    if !diesel::select(sql::<Bool>(IS_THERE)).get_result::<bool>(db).context(READING)? {
        return Ok(None);
    }
    let row = diesel::sql_query("SELECT name, files FROM main.sweep_host");
    let row: Option<HostRow> = row.get_result(db).optional().context(READING)?;
    row.map(|row| row.host()).transpose()
}

/// Finds the recorded tables and views that are gone.
pub fn gone(db: &mut Db) -> QueryResult<Vec<String>> {
    const ON_SQLITE: &str = "SELECT value FROM host, json_each(relations) \
        WHERE value NOT IN (SELECT name FROM sqlite_master) ORDER BY 1";
    let gone = match db.dialect() {
        Dialect::Postgres => GONE,
        Dialect::Sqlite => ON_SQLITE,
    };
    sql::<Text>(gone).load(db)
}

/// All that is recorded of a schema.
#[derive(QueryableByName)]
pub struct SchemaRecord {
    /// The versions of the migrations that have run.
    #[diesel(sql_type = Array<Text>)]
    pub versions: Vec<String>,
    /// The relations that are gone.
    #[diesel(sql_type = Array<Text>)]
    pub gone: Vec<String>,
    #[diesel(embed)]
    row: HostRow,
}

impl SchemaRecord {
    /// Reads the record of a schema on PostgreSQL that has both tables; None: one is empty, or it is no such schema.
    pub fn read(db: &mut Db) -> Result<Option<SchemaRecord>> {
        let Db::Postgres(db) = db else { return Ok(None) };
        let query = format!(
            "SELECT ARRAY(SELECT version::text FROM sweep.{VERSIONS}) AS versions, ARRAY({GONE}) AS gone, name, \
             files::text FROM sweep.host"
        );
        let recorded = diesel::sql_query(query).get_result::<SchemaRecord>(db).optional().context(READING)?;
        Ok(recorded.filter(|recorded| !recorded.versions.is_empty()))
    }

    pub fn host(&self) -> Result<Arc<Host>> {
        self.row.host()
    }
}

/// The query that finds the recorded tables and views that are gone, and what takes the subjects of a kind that has
/// facts.
const GONE: &str = "SELECT 'sweep.' || relation FROM sweep.host, jsonb_array_elements_text(relations) relation \
    WHERE to_regclass('sweep.' || quote_ident(relation)) IS NULL \
    UNION ALL \
    SELECT 'sweep.' || take FROM sweep.host, jsonb_array_elements_text(relations) relation, \
        replace('take_' || relation, '_decided_facts', '') take \
    WHERE relation LIKE '%_decided_facts' AND NOT EXISTS ( \
        SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('sweep') AND proname = take) \
    ORDER BY 1";

/// The statements that record the host, to be run after all migrations.
pub fn statements(host: &Host, dialect: Dialect) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let files = host.files_as_json().map_or("null".to_owned(), |files| literal(&files));
    let table = format!("{}{RECORD}", catalog::prefix(host, dialect));
    let emptied = match dialect {
        Dialect::Postgres => String::new(),
        Dialect::Sqlite => format!("delete from {table};\n"),
    };
    format!("\n{emptied}{};\n", insertion(&table, &literal(host.name()), &files, dialect))
}

/// The statement that replaces what is recorded; on PostgreSQL all but the database's id. In another program's file the
/// table is a view, which takes no upsert: on SQLite it is emptied before.
fn insertion(table: &str, name: &str, files: &str, dialect: Dialect) -> String {
    let (relations, replaced) = match dialect {
        Dialect::Postgres => (
            "(select jsonb_agg(relname order by relname) from pg_class\n    \
             where relnamespace = 'sweep'::regnamespace and relkind in ('r', 'v'))",
            "\non conflict (only_row) do update\n    \
             set name = excluded.name, files = excluded.files, relations = excluded.relations",
        ),
        Dialect::Sqlite => ("(select json_group_array(name) from sqlite_master where type in ('table', 'view'))", ""),
    };
    format!("insert into {table} (name, files, relations)\nvalues ({name}, {files}, {relations}){replaced}")
}

/// Records a host whose migrations have all run.
pub fn record(db: &mut Db, host: &Host) -> Result<()> {
    let writing = "writing whose database it is";
    let (name, files) = match db.dialect() {
        Dialect::Postgres => ("$1", "$2::jsonb"),
        Dialect::Sqlite => {
            db.batch_execute(&format!("delete from {RECORD}")).context(writing)?;
            ("?", "?")
        }
    };
    let insertion = diesel::sql_query(insertion(RECORD, name, files, db.dialect()));
    let insertion = insertion.bind::<Text, _>(host.name()).bind::<Nullable<Text>, _>(host.files_as_json());
    insertion.execute(db).context(writing).map(drop)
}
