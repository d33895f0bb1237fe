//! Recognises whose database it is: by the record that `sweep migrate` makes of it, else by the tables that are there.
//!
//! The table `host` has one row, with the host's name; of a host that is not built in its files as well, so that a
//! sweep needs no folder; and all that was made, so that a view that is gone is no kind of work that there is none of,
//! and a promise rests on no index that is not there.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Bool, Nullable, Text};

use crate::conclusion::{Failure, config};
use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog::{self, VERSIONS};
use crate::store::hosts::folders::{Host, built_in, made, named};
use crate::text::misread;

/// The name of the table.
pub const RECORD: &str = "host";

const READING: &str = "reading whose database it is";

/// The row of the table `host`.
#[derive(QueryableByName)]
pub struct HostRow {
    #[diesel(sql_type = Text)]
    name: String,
    /// None: the host is built in.
    #[diesel(sql_type = Nullable<Text>)]
    files: Option<String>,
}

impl HostRow {
    pub fn host(&self) -> Result<Arc<Host>> {
        let HostRow { name, files } = self;
        let Some(files) = files else {
            let version = env!("CARGO_PKG_VERSION");
            let refusal =
                format!("this database's host is {name:?}, which sweep {version} does not know: upgrade sweep");
            return Ok(named(name).ok_or_else(|| config(refusal))?);
        };
        let broken = |why: String| config(format!("the table host has a broken host: {why}"));
        let files = serde_json::from_str(files);
        let files = files.map_err(|error| broken(format!("files: {}", misread::json(&error))))?;
        Ok(Arc::new(Host::from_files(files).map_err(broken)?))
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

/// All that is recorded of a schema.
#[derive(QueryableByName)]
pub struct SchemaRecord {
    /// The versions of the migrations that have run.
    #[diesel(sql_type = Array<Text>)]
    pub versions: Vec<String>,
    /// What was made and is gone.
    #[diesel(sql_type = Array<Text>)]
    pub gone: Vec<String>,
    #[diesel(embed)]
    pub row: HostRow,
}

impl SchemaRecord {
    /// Reads the record of a schema on PostgreSQL that has both tables; None: one is empty, or it is no such schema.
    pub fn read(db: &mut Db) -> Result<Option<SchemaRecord>> {
        let Db::Postgres(db) = db else { return Ok(None) };
        let query = format!(
            "SELECT ARRAY(SELECT version::text FROM sweep.{VERSIONS}) AS versions, ARRAY({}) AS gone, name, \
             files::text FROM sweep.host",
            made::GONE_ON_POSTGRES
        );
        let recorded = diesel::sql_query(query).get_result::<SchemaRecord>(db).optional().context(READING)?;
        Ok(recorded.filter(|recorded| !recorded.versions.is_empty()))
    }
}

/// The statements that record the host, to be run after all migrations.
pub fn statements(host: &Host, dialect: Dialect) -> String {
    let literal = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let files = host.files_as_json().map_or("null".to_owned(), |files| literal(&files));
    let table = format!("{}{RECORD}", catalog::prefix(host, dialect));
    let emptied = match dialect {
        Dialect::Postgres => String::new(),
        Dialect::Sqlite => format!("delete from {table};\n"),
    };
    format!("\n{emptied}{};\n", insertion(&table, host, (&literal(host.name()), &files), dialect))
}

/// The statement that replaces what is recorded; on PostgreSQL all but the database's id. In another program's file the
/// table is a view, which takes no upsert: on SQLite it is emptied before.
fn insertion(table: &str, host: &Host, (name, files): (&str, &str), dialect: Dialect) -> String {
    let replaced = match dialect {
        Dialect::Postgres => {
            "\non conflict (only_row) do update\n    \
             set name = excluded.name, files = excluded.files, made = excluded.made"
        }
        Dialect::Sqlite => "",
    };
    let made = made::to_record(host, dialect);
    format!("insert into {table} (name, files, made)\nvalues ({name}, {files}, ({made})){replaced}")
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
    let insertion = diesel::sql_query(insertion(RECORD, host, (name, files), db.dialect()));
    let insertion = insertion.bind::<Text, _>(host.name()).bind::<Nullable<Text>, _>(host.files_as_json());
    insertion.execute(db).context(writing).map(drop)
}

const LOOKING: &str = "looking for the host's tables";
/// What is expected of whoever names a table with its schema.
pub const IN_PUBLIC: &str = "expected tables of the schema public by their bare names, since sweep works with no other";

fn is_recognised(host: &Host, theirs: &BTreeSet<String>) -> bool {
    let recognition = host.manifest.recognition.as_ref();
    recognition.is_some_and(|recognition| recognition.tables.iter().all(|mark| theirs.contains(mark)))
}

/// Refuses a database that lacks a table or a column of this host's. A table that is missing has no owner to ask for.
pub fn refuse_unfit(db: &mut Db, host: &Host) -> Result<()> {
    let theirs = &tables(db).context(LOOKING)?;
    let missing: Vec<&str> = host.tables().into_iter().filter(|&table| !theirs.contains(table)).collect();
    match missing.as_slice() {
        [] => match missing_columns(db, host).context("looking at the columns of the host's tables")?.as_slice() {
            [] => Ok(()),
            columns => Err(too_old(host, &columns.join(", ")).into()),
        },
        tables if tables.iter().any(|table| table.contains('.')) => {
            let (title, lacking) = (host.title(), tables_called(tables));
            bail!(config(format!("this database lacks {lacking} of {title}: {IN_PUBLIC}")))
        }
        tables if is_recognised(host, theirs) => bail!(too_old(host, &tables.join(", "))),
        tables => {
            bail!(config(format!("this is not {}'s database, it lacks {}", host.title(), tables_called(tables))))
        }
    }
}

/// The columns that the database lacks, as `table.column`.
fn missing_columns(db: &mut Db, host: &Host) -> QueryResult<Vec<String>> {
    const ON_POSTGRES: &str = "SELECT attname::text FROM pg_attribute JOIN pg_class c ON c.oid = attrelid \
        JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE nspname = 'public' AND attnum > 0 AND NOT attisdropped AND relname = ";
    let mut missing = Vec::new();
    for (table, columns) in host.manifest.tables.iter().filter(|(_, columns)| !columns.is_empty()) {
        let (before, after) = match db.dialect() {
            Dialect::Postgres => (ON_POSTGRES, ""),
            Dialect::Sqlite => ("SELECT name FROM pragma_table_info(", ", 'main')"),
        };
        let standing: Vec<String> = sql::<Text>(before).bind::<Text, _>(table).sql(after).load(db)?;
        let lacking = columns.iter().filter(|column| !standing.contains(column));
        missing.extend(lacking.map(|column| format!("{table}.{column}")));
    }
    Ok(missing)
}

fn too_old(host: &Host, lacking: &str) -> Failure {
    let oldest = host.manifest.recognition.as_ref().and_then(|recognition| recognition.oldest_release.as_deref());
    let oldest = oldest.map_or("that".to_owned(), |oldest| format!("{oldest}, the oldest release that"));
    let title = host.title();
    config(format!("this {title} is older than {oldest} sweep works with (it lacks {lacking}): upgrade {title} first"))
}

/// The host of a database where sweep has never been. Refuses one that it does not know, unless the operator names one.
pub fn detect(db: &mut Db, wanted: Option<Arc<Host>>) -> Result<Arc<Host>> {
    let dialect = db.dialect();
    if let Some(host) = wanted.as_ref().filter(|host| !host.is_for(dialect)) {
        bail!(config(format!("the host {} has no migrations for {}", host.name(), dialect.title())));
    }
    let theirs = tables(db).context(LOOKING)?;
    let known: Vec<Arc<Host>> = built_in().iter().filter(|host| host.is_for(dialect)).cloned().collect();
    let recognised = wanted.map_or_else(|| recognise(&known, &theirs), Ok);
    // There is no schema of sweep's own in a file.
    let is_anothers = recognised.as_ref().map_or(true, |host| host.is_native() && !theirs.is_empty());
    if dialect == Dialect::Sqlite && is_anothers {
        let some: Vec<&str> = theirs.iter().take(3).map(String::as_str).collect();
        let (file, some) = (catalog::name(db)?, some.join(", "));
        bail!(config(format!("{file} is neither empty nor sweep's, nor of a host that sweep knows: it has {some}")));
    }
    Ok(recognised?)
}

/// A table of another schema than `public` is called by both names in quotes, as no host can name it: whose it is would
/// not be asked.
fn tables(db: &mut Db) -> QueryResult<BTreeSet<String>> {
    const ON_POSTGRES: &str = "SELECT CASE nspname WHEN 'public' THEN relname::text \
        ELSE format('\"%s\".\"%s\"', nspname, relname) END \
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'sweep') \
        AND nspname NOT LIKE 'pg\\_%'";
    let on_sqlite = format!(
        "SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') AND name <> '{VERSIONS}' \
         AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
    );
    let names = db.dialect().either(ON_POSTGRES, &on_sqlite);
    Ok(sql::<Text>(names).load::<String>(db)?.into_iter().collect())
}

/// Recognises the host whose tables these are; of none, sweep's own.
fn recognise(hosts: &[Arc<Host>], theirs: &BTreeSet<String>) -> Result<Arc<Host>, Failure> {
    let recognised: Vec<&Arc<Host>> = hosts.iter().filter(|host| is_recognised(host, theirs)).collect();
    match recognised.as_slice() {
        [host] => Ok(Arc::clone(host)),
        [] => {
            let native = hosts.iter().find(|host| theirs.is_empty() && host.is_native());
            native.cloned().ok_or_else(|| unknown(hosts, theirs))
        }
        several => {
            let names: Vec<&str> = several.iter().map(|host| host.name()).collect();
            let names = names.join(" and of ");
            Err(config(format!("this database has the tables of {names}: say which of them sweep is for, with --host")))
        }
    }
}

fn unknown(hosts: &[Arc<Host>], theirs: &BTreeSet<String>) -> Failure {
    let lacking = hosts.iter().filter_map(|host| {
        let marks = host.manifest.recognition.as_ref()?.tables.iter().map(String::as_str);
        let missing: Vec<&str> = marks.filter(|&mark| !theirs.contains(mark)).collect();
        Some(format!("{}'s {}", host.title(), missing.join(", ")))
    });
    let lacking = lacking.collect::<Vec<_>>().join("; and ");
    let tables = if theirs.len() == 1 { "1 table".to_owned() } else { format!("{} tables", theirs.len()) };
    config(format!(
        "this database is neither empty nor of a host that sweep knows: it has {tables}, and lacks {lacking}. \
         To put sweep's own tables beside them, in the schema sweep, run `sweep migrate --host native`"
    ))
}

/// `the table issues`, `the tables issues, agents and 12 more`.
fn tables_called(tables: &[&str]) -> String {
    match tables {
        [table] => format!("the table {table}"),
        [first, second, _, _, ..] => format!("the tables {first}, {second} and {} more", tables.len() - 2),
        tables => format!("the tables {}", tables.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_with_the_tables_of_two_hosts_is_neither_ones() {
        let host = |name: &str| {
            let manifest = format!(
                "name = '{name}'\ntitle = '{name}'\nid = 'text'\nkinds = ['issue']\n\
                 recognition = {{ tables = ['{name}'] }}\n[tables]\n{name} = []\n"
            );
            Arc::new(Host::from_files([("host.toml".to_owned(), manifest)].into()).expect("a host"))
        };
        let hosts = [host("jobs"), host("tasks")];
        let tables = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(recognise(&hosts, &tables(&["tasks", "others"])).expect("one"), hosts[1]);
        let refusal = recognise(&hosts, &tables(&["jobs", "tasks"])).expect_err("two").to_string();
        assert_eq!(
            refusal,
            "this database has the tables of jobs and of tasks: say which of them sweep is for, with --host"
        );
        let refusal = recognise(&hosts, &tables(&["others"])).expect_err("none").to_string();
        assert!(refusal.contains("it has 1 table, and lacks jobs's jobs; and tasks's tasks. "), "{refusal}");
    }
}
