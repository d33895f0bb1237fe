//! The catalog: which migrations there are and have run, what they make, and what of it stands in a database.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};

use crate::conclusion::config;
use crate::rules::Kind;
use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::folders::{FILES, Host, strict_templates};

/// What sweep keeps in another program's file is called so.
pub const PREFIX: &str = "sweep_";

/// diesel's own table, in our schema.
pub const VERSIONS: &str = "__diesel_schema_migrations";

/// The folders of all migrations for a host, in the order in which they run: what all have, the host's own, the facts
/// that are derived from it, the boards over them, and listening, which is run only for operators who ask for it. What
/// is temporary is not among them.
pub fn folders(db: &Db, host: &Host) -> Vec<String> {
    let dialect = db.dialect();
    let of_all = [dialect.name(), "ledger"].into_iter().flat_map(inside);
    if is_guest(db, host) {
        return of_all.chain(host.migrations("sqlite_lasting")).collect();
    }
    let of_listening = host.migrations(&format!("{}_listen", dialect.name()));
    of_all.chain(over_the_ledger(dialect, host)).chain(of_listening).collect()
}

/// Is it a file of another program's? Then only the ledger is kept there, and all else is made for each connection.
pub fn is_guest(db: &Db, host: &Host) -> bool {
    db.dialect() == Dialect::Sqlite && !host.is_native()
}

/// The beginning of the names of sweep's own tables.
pub fn prefix(host: &Host, dialect: Dialect) -> &'static str {
    if dialect == Dialect::Sqlite && !host.is_native() { PREFIX } else { "" }
}

/// A name as SQL takes it, whatever stands in it.
pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// What stands over the ledger, in this order; a guest makes it for each connection.
pub fn over_the_ledger(dialect: Dialect, host: &Host) -> Vec<String> {
    let mut of_host = [host.migrations("both"), host.migrations(dialect.name())].concat();
    of_host.sort_by_key(|folder| version(folder));
    let derived = if host.has_derived_facts() { facts(dialect, host) } else { Vec::new() };
    // A host that lacks a kind has nothing to show of it.
    let kinds = || host.kinds().into_iter().map(Kind::name);
    let boards = ["agents"].into_iter().chain(kinds()).flat_map(|part| inside(&format!("board/{part}")));
    // A writer of SQLite's holds all of it.
    let takes =
        kinds().chain(["all"]).filter(|_| dialect == Dialect::Postgres).flat_map(|of| inside(&format!("take/{of}")));
    let below = inside("ledger_views").into_iter().chain(of_host).chain(derived).chain(boards).chain(takes);
    below.chain(["both", dialect.name()].iter().flat_map(|part| inside(&format!("keep/{part}")))).collect()
}

fn facts(dialect: Dialect, host: &Host) -> Vec<String> {
    let kinds = ["shared"].into_iter().chain(host.kinds().into_iter().map(Kind::name));
    let sources = kinds.flat_map(|kind| ["both", dialect.name()].map(|source| format!("facts/{kind}/{source}")));
    let mut folders: Vec<String> = sources.flat_map(|source| inside(&source)).collect();
    folders.sort_by_key(|folder| version(folder));
    folders
}

fn inside(source: &str) -> Vec<String> {
    let folders = FILES.get_dir(source).into_iter().flat_map(|source| source.dirs());
    folders.map(|folder| folder.path().display().to_string()).collect()
}

/// The text of a file of the host's, or of what all have.
fn file<'a>(host: &'a Host, path: &str) -> &'a str {
    host.file(path).or_else(|| FILES.get_file(path)?.contents_utf8()).unwrap_or_default()
}

/// What a migration runs. The ledger, the facts, the boards and what a host has on both databases are templates, with
/// the words that `migrations/dialects` defines for each database.
pub fn up(folder: &str, host: &Host, dialect: Dialect) -> Result<String> {
    text(&format!("{folder}/up.sql"), host, dialect)
}

/// What undoes a migration.
pub fn down(folder: &str, host: &Host, dialect: Dialect) -> Result<String> {
    text(&format!("{folder}/down.sql"), host, dialect)
}

fn text(path: &str, host: &Host, dialect: Dialect) -> Result<String> {
    let text = file(host, path);
    if path.starts_with("hosts/") && !path.contains("/both/") {
        return Ok(text.to_owned());
    }
    let both = file(host, "dialects/both.sql");
    let words = file(host, &format!("dialects/{}.sql", dialect.name()));
    let shared = ["board", "facts"].iter().find(|part| path.starts_with(&format!("{part}/")));
    let shared = shared.map_or("", |part| file(host, &format!("{part}/shared.sql")));
    let context = minijinja::context! {
        own => prefix(host, dialect),
        id => host.id(),
        native => host.is_native(),
        derived => host.has_derived_facts(),
        brings => host.views(dialect),
        steps => host.kinds().contains(&Kind::Step),
        sessions => host.kinds().contains(&Kind::Session),
    };
    let rendered = strict_templates().render_str(&format!("{both}{words}{shared}{text}"), context);
    Ok(rendered.map_err(|error| config(format!("{path}: {error}")))? + "\n")
}

/// The tables that sweep has on every host, and diesel's, by their names in its schema or in a file.
pub fn tables_of_the_ledger(host: &Host, dialect: Dialect) -> Result<Vec<String>> {
    let folders: Vec<String> =
        inside("ledger").iter().map(|folder| up(folder, host, dialect)).collect::<Result<_>>()?;
    let lines = folders.iter().flat_map(|sql| sql.lines());
    let tables = lines.filter_map(|line| Some(line.strip_prefix("create table ")?.split(' ').next()?.to_owned()));
    Ok(tables.chain([format!("{}{VERSIONS}", prefix(host, dialect))]).collect())
}

/// The number that a migration's name begins with, as diesel records it.
pub fn version(folder: &str) -> String {
    let name = folder.rsplit('/').next().unwrap_or_default();
    name.split('_').next().unwrap_or_default().replace('-', "")
}

/// Is it a view of sweep's own over what a host has?
pub fn is_derived(folder: &str) -> bool {
    ["facts/", "board/", "take/", "keep/"].iter().any(|source| folder.starts_with(source))
}

/// Is it what sweep remembers, whatever its host looks like?
pub fn is_of_the_ledger(folder: &str) -> bool {
    folder.starts_with("postgres/") || folder.starts_with("ledger/")
}

/// The version that every database has which a released version of sweep has migrated.
pub fn version_of_the_ledger() -> String {
    inside("ledger").first().map(|folder| version(folder)).unwrap_or_default()
}

pub fn is_of_listening(folder: &str) -> bool {
    folder.contains("_listen/")
}

/// The versions of the migrations that have run in this database.
pub fn applied(db: &mut Db) -> Result<BTreeSet<String>> {
    let reading = "reading the schema's version";
    if !exists(db, VERSIONS).context(reading)? {
        return Ok(BTreeSet::new());
    }
    let versions = sql::<Text>(&format!("SELECT version FROM {}{VERSIONS}", db.dialect().schema()));
    Ok(versions.load::<String>(db).context(reading)?.into_iter().collect())
}

/// The database's name, or its file.
pub fn name(db: &mut Db) -> QueryResult<String> {
    let name = match db.dialect() {
        Dialect::Postgres => "SELECT current_database()::text",
        Dialect::Sqlite => "SELECT file FROM pragma_database_list WHERE name = 'main'",
    };
    sql::<Text>(name).get_result(db)
}

/// Is there such a table or view of sweep's, which this role may read?
pub fn is_readable(db: &mut Db, relation: &str) -> QueryResult<bool> {
    diesel::select(sql::<Bool>(&readable(db.dialect(), relation))).get_result(db)
}

/// The expression of SQL that says whether there is such a table or view of sweep's, which this role may read.
pub fn readable(dialect: Dialect, relation: &str) -> String {
    match dialect {
        Dialect::Postgres => {
            format!("coalesce(has_table_privilege(to_regclass('sweep.{relation}'), 'SELECT'), false)")
        }
        Dialect::Sqlite => standing_in_file(relation),
    }
}

/// Is there such a table or view of sweep's?
pub fn exists(db: &mut Db, relation: &str) -> QueryResult<bool> {
    let is_there = match db.dialect() {
        Dialect::Postgres => format!("to_regclass('sweep.{relation}') IS NOT NULL"),
        Dialect::Sqlite => standing_in_file(relation),
    };
    diesel::select(sql::<Bool>(&is_there)).get_result(db)
}

/// A condition of SQL: the relation stands in a file, or was made for this connection.
fn standing_in_file(relation: &str) -> String {
    let all = "SELECT name FROM sqlite_master UNION ALL SELECT name FROM sqlite_temp_master";
    format!("EXISTS (SELECT 1 FROM ({all}) WHERE name = '{relation}')")
}

/// Has a table or view of sweep's all of these columns?
pub fn has_columns(db: &mut Db, relation: &str, columns: &[&str]) -> QueryResult<bool> {
    let names = match db.dialect() {
        Dialect::Postgres => format!(
            "SELECT attname::text FROM pg_attribute WHERE attrelid = to_regclass('sweep.{relation}') AND attnum > 0 \
             AND NOT attisdropped"
        ),
        Dialect::Sqlite => format!("SELECT name FROM pragma_table_info('{relation}')"),
    };
    let standing: Vec<String> = sql::<Text>(&names).load(db)?;
    Ok(columns.iter().all(|column| standing.iter().any(|it| it == column)))
}
