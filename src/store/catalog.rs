//! The catalog: which migrations there are and have run, what they make, and what of it stands in a database; which
//! database that is, and what time it is there.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use chrono::{DateTime, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};

use super::Db;
use super::hosts::{FILES, Host};
use super::types::sql::Instant;
use crate::rules::Kind;

/// diesel's own table, in our schema.
pub const VERSIONS: &str = "__diesel_schema_migrations";

/// The folders of a host's migrations below `migrations/`, in the order in which they run. Those of listening, which
/// are run only for operators who ask for them, are among them.
pub fn folders(db: &Db, host: &Host) -> Vec<String> {
    let database = if matches!(db, Db::Sqlite(_)) { "sqlite" } else { "postgres" };
    let name = host.name();
    let sources = ["both", database, &format!("{database}_listen")].map(|source| format!("hosts/{name}/{source}"));
    let of_host: Vec<String> = sources.iter().flat_map(|source| inside(source)).collect();
    let made = made_by(&of_host);
    // A host that lacks a kind has nothing to show of it.
    let kinds = Kind::ALL.iter().copied().filter(|kind| made.contains(&facts_of(*kind)));
    let boards = kinds.flat_map(|kind| inside(&format!("board/{kind}")));
    let of_all = [database, "ledger"].into_iter().flat_map(inside);
    let mut folders: Vec<String> = of_all.chain(boards).chain(of_host).collect();
    folders.sort_by_key(|folder| version(folder));
    folders
}

fn inside(source: &str) -> Vec<String> {
    let folders = FILES.get_dir(source).into_iter().flat_map(|source| source.dirs());
    folders.map(|folder| folder.path().display().to_string()).collect()
}

fn file(path: &str) -> &'static str {
    FILES.get_file(path).and_then(|file| file.contents_utf8()).unwrap_or_default()
}

/// What a migration runs. The ledger, the boards and what a host has on both databases are written once, as templates,
/// with the words that `migrations/dialects` defines for each database.
pub fn up(folder: &str, host: &Host, is_sqlite: bool) -> String {
    let up = file(&format!("{folder}/up.sql"));
    if folder.starts_with("hosts/") && !folder.contains("/both/") {
        return up.to_owned();
    }
    let dialect = file(if is_sqlite { "dialects/sqlite.sql" } else { "dialects/postgres.sql" });
    let shared = if folder.starts_with("board/") { file("board/shared.sql") } else { "" };
    let mut templates = minijinja::Environment::new();
    templates.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    let context = minijinja::context! { id => host.id() };
    templates.render_str(&format!("{dialect}{shared}{up}"), context).expect("the suite renders each of them") + "\n"
}

pub fn down(folder: &str) -> &'static str {
    file(&format!("{folder}/down.sql"))
}

/// The number that a migration's name begins with, as diesel records it.
pub fn version(folder: &str) -> String {
    let name = folder.rsplit('/').next().unwrap_or_default();
    name.split('_').next().unwrap_or_default().replace('-', "")
}

/// Is the host known on this database?
pub fn is_for(db: &Db, host: &Host) -> bool {
    let database = if matches!(db, Db::Sqlite(_)) { "sqlite" } else { "postgres" };
    FILES.get_dir(format!("hosts/{}/{database}", host.name())).is_some()
}

pub fn is_of_listening(folder: &str) -> bool {
    folder.contains("_listen/")
}

/// The tables and views that a host's migrations make.
pub fn relations(db: &Db, host: &Host) -> Vec<String> {
    made_by(&folders(db, host))
}

fn made_by(folders: &[String]) -> Vec<String> {
    let made = |line: &str| {
        let made = line.strip_prefix("create table ").or_else(|| line.strip_prefix("create view "))?;
        made.split([' ', '(']).next().map(str::to_owned)
    };
    folders.iter().flat_map(|folder| file(&format!("{folder}/up.sql")).lines()).filter_map(made).collect()
}

/// The kinds of subject that a host has.
pub fn kinds(db: &Db, host: &Host) -> Vec<Kind> {
    let relations = relations(db, host);
    Kind::ALL.iter().copied().filter(|kind| relations.contains(&facts_of(*kind))).collect()
}

fn facts_of(kind: Kind) -> String {
    format!("{kind}_facts")
}

/// The versions of the migrations that have run in this database.
pub fn applied(db: &mut Db) -> Result<BTreeSet<String>> {
    let reading = "reading the schema's version";
    if !exists(db, VERSIONS).context(reading)? {
        return Ok(BTreeSet::new());
    }
    let versions = match db {
        Db::Postgres(db) => sql::<Text>(&format!("SELECT version FROM sweep.{VERSIONS}")).load::<String>(db),
        Db::Sqlite(db) => sql::<Text>(&format!("SELECT version FROM {VERSIONS}")).load::<String>(db),
    };
    Ok(versions.context(reading)?.into_iter().collect())
}

/// The database's name, or its file.
pub fn name(db: &mut Db) -> QueryResult<String> {
    match db {
        Db::Postgres(db) => sql::<Text>("SELECT current_database()::text").get_result(db),
        Db::Sqlite(db) => sql::<Text>("SELECT file FROM pragma_database_list WHERE name = 'main'").get_result(db),
    }
}

/// Is there such a table or view of sweep's, which this role may read?
pub fn is_readable(db: &mut Db, relation: &str) -> QueryResult<bool> {
    match db {
        Db::Postgres(db) => diesel::select(
            sql::<Bool>("coalesce(has_table_privilege(to_regclass(")
                .bind::<Text, _>(format!("sweep.{relation}"))
                .sql("), 'SELECT'), false)"),
        )
        .get_result(db),
        Db::Sqlite(_) => exists(db, relation),
    }
}

/// Is there such a table or view of sweep's?
pub fn exists(db: &mut Db, relation: &str) -> QueryResult<bool> {
    match db {
        Db::Postgres(db) => diesel::select(
            sql::<Bool>("to_regclass(").bind::<Text, _>(format!("sweep.{relation}")).sql(") IS NOT NULL"),
        )
        .get_result(db),
        Db::Sqlite(db) => diesel::select(
            sql::<Bool>("EXISTS (SELECT 1 FROM sqlite_master WHERE name = ").bind::<Text, _>(relation).sql(")"),
        )
        .get_result(db),
    }
}

/// The first few things in a file that sweep has not made.
pub fn made_by_others(db: &mut SqliteConnection) -> QueryResult<Vec<String>> {
    sql::<Text>(&format!(
        "SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND tbl_name <> '{VERSIONS}' \
         ORDER BY name LIMIT 3"
    ))
    .load(db)
}

impl Db {
    /// Which database this is: the cluster's number and its name, or the file. A standby has its primary's.
    pub fn identity(&mut self) -> QueryResult<String> {
        const OF_POSTGRES: &str =
            "SELECT (SELECT system_identifier FROM pg_control_system())::text || '/' || current_database()";
        match self {
            Db::Postgres(db) => sql::<Text>(OF_POSTGRES).get_result(db),
            Db::Sqlite(_) => name(self),
        }
    }

    /// The database's clock.
    pub fn now(&mut self) -> QueryResult<DateTime<Utc>> {
        match self {
            Db::Postgres(db) => diesel::select(sql::<Instant>("clock_timestamp()")).get_result(db),
            Db::Sqlite(db) => diesel::select(sql::<Instant>("strftime('%Y-%m-%dT%H:%M:%fZ', 'now')")).get_result(db),
        }
    }
}
