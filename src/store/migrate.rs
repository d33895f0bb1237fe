//! The schema: which host a database has, which migrations it lacks, and running them.
//!
//! One transaction under one lock: a database is migrated wholly or not at all, and several first starts at once are safe.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use clap::ValueEnum;
use diesel::backend::Backend;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use diesel_migrations::{EmbeddedMigrations, MigrationHarness, embed_migrations};
use include_dir::{Dir, include_dir};

use super::Db;
use super::open::exists;
use crate::exit::config;

const LEDGER: EmbeddedMigrations = embed_migrations!("migrations/postgres/ledger");
const NATIVE: EmbeddedMigrations = embed_migrations!("migrations/postgres/native");
const PAPERCLIP: EmbeddedMigrations = embed_migrations!("migrations/postgres/paperclip");
const SQLITE: EmbeddedMigrations = embed_migrations!("migrations/sqlite");

/// The same files once more, as text, to print them.
static FILES: Dir = include_dir!("$CARGO_MANIFEST_DIR/migrations");

/// diesel's own table, in our schema.
const VERSIONS: &str = "__diesel_schema_migrations";

/// The control plane whose database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Host {
    /// sweep's own tables
    Native,
    /// Paperclip's database
    Paperclip,
}

/// Relations by which Paperclip's database is recognised; its views read all of them.
const PAPERCLIP_TABLES: [&str; 9] = [
    "companies",
    "agents",
    "issues",
    "heartbeat_runs",
    "agent_wakeup_requests",
    "issue_comments",
    "activity_log",
    "issue_relations",
    "issue_recovery_actions",
];

impl Host {
    pub fn name(self) -> &'static str {
        match self {
            Host::Native => "native",
            Host::Paperclip => "paperclip",
        }
    }
}

/// The folders of a host's migrations below `migrations/`, in the order in which they run.
fn folders(db: &Db, host: Host) -> Vec<String> {
    let sources = match db {
        Db::Sqlite(_) => vec!["sqlite".to_owned()],
        Db::Postgres(_) => vec!["postgres/ledger".to_owned(), format!("postgres/{}", host.name())],
    };
    let inside = |source: String| FILES.get_dir(source).into_iter().flat_map(|dir| dir.dirs());
    let mut folders: Vec<String> = sources
        .into_iter()
        .flat_map(inside)
        .map(|dir| dir.path().display().to_string())
        .collect();
    folders.sort_by_key(|folder| version(folder));
    folders
}

/// The number that a migration's name begins with, as diesel records it.
fn version(folder: &str) -> String {
    let name = folder.rsplit('/').next().unwrap_or_default();
    name.split('_').next().unwrap_or_default().replace('-', "")
}

/// How far a database is migrated.
#[derive(Debug, PartialEq)]
enum State {
    /// sweep has never been here.
    Absent,
    /// These of the host's migrations, by folder, are missing.
    Behind(Host, Vec<String>),
    Current(Host),
}

/// Refuses a schema that is newer than this binary, and a role that may not look at it.
fn state(db: &mut Db) -> Result<State> {
    if let Db::Postgres(db) = db {
        refuse_without_usage(db)?;
    }
    let reading = "reading the schema's version";
    if !exists(db, VERSIONS).context(reading)? {
        return Ok(State::Absent);
    }
    let applied = applied(db).context(reading)?;
    let hosts: &[Host] = match db {
        Db::Postgres(_) => &[Host::Native, Host::Paperclip],
        Db::Sqlite(_) => &[Host::Native],
    };
    let known: BTreeSet<String> = hosts
        .iter()
        .flat_map(|&host| folders(db, host))
        .map(|f| version(&f))
        .collect();
    let unknown: Vec<&str> = applied.difference(&known).map(String::as_str).collect();
    if !unknown.is_empty() {
        return Err(config(format!(
            "this database's schema is newer than sweep {} (it has {}): upgrade sweep",
            env!("CARGO_PKG_VERSION"),
            unknown.join(", ")
        ))
        .into());
    }
    let missing = |host| {
        folders(db, host)
            .into_iter()
            .filter(|f| !applied.contains(&version(f)))
            .collect::<Vec<_>>()
    };
    // It is the host's of which most is there.
    let found = hosts
        .iter()
        .map(|&host| (host, missing(host)))
        .min_by_key(|(_, missing)| missing.len());
    Ok(match found {
        None => State::Absent,
        Some((host, missing)) if missing.is_empty() => State::Current(host),
        Some((host, missing)) => State::Behind(host, missing),
    })
}

fn refuse_without_usage(db: &mut PgConnection) -> Result<()> {
    const REFUSED: &str =
        "EXISTS (SELECT FROM pg_namespace WHERE nspname = 'sweep' AND NOT has_schema_privilege(oid, 'USAGE'))";
    let refused: bool = diesel::select(sql::<Bool>(REFUSED))
        .get_result(db)
        .context("looking for the schema sweep")?;
    if refused {
        Err(config("this role lacks rights: USAGE on schema sweep").into())
    } else {
        Ok(())
    }
}

fn applied(db: &mut Db) -> QueryResult<BTreeSet<String>> {
    let list = match db {
        Db::Postgres(db) => sql::<Text>(&format!("SELECT version FROM sweep.{VERSIONS}")).load::<String>(db)?,
        Db::Sqlite(db) => sql::<Text>(&format!("SELECT version FROM {VERSIONS}")).load::<String>(db)?,
    };
    Ok(list.into_iter().collect())
}

/// The host of a database whose schema is current; refuses every other one.
pub fn check(db: &mut Db) -> Result<Host> {
    match state(db)? {
        State::Current(host) => Ok(host),
        State::Absent => Err(config("this database is not set up for sweep: run `sweep migrate`").into()),
        State::Behind(_, missing) => Err(config(format!(
            "this database's schema is behind this sweep, {} of its migrations are missing, the first is {}: run `sweep migrate`",
            missing.len(),
            missing[0]
        ))
        .into()),
    }
}

/// What a migration did, or would do.
#[derive(Debug, PartialEq)]
pub struct Plan {
    pub host: Host,
    /// The folders of the migrations that are missing, in the order in which they run.
    pub missing: Vec<String>,
}

/// What `migrate` would do.
pub fn plan(db: &mut Db, wanted: Option<Host>) -> Result<Plan> {
    let (host, missing) = match state(db)? {
        State::Current(host) => (host, Vec::new()),
        State::Behind(host, missing) => (host, missing),
        State::Absent => {
            let host = match db {
                Db::Postgres(db) => detect(db, wanted)?,
                Db::Sqlite(_) => Host::Native,
            };
            (host, folders(db, host))
        }
    };
    match wanted {
        Some(wanted) if wanted != host => Err(config(format!(
            "--host {}: this database's host is {}",
            wanted.name(),
            host.name()
        ))
        .into()),
        Some(_) | None => Ok(Plan { host, missing }),
    }
}

/// Runs what is missing, in one transaction under one lock. `wanted`: the operator's word; else the host is detected.
pub fn migrate(db: &mut Db, wanted: Option<Host>) -> Result<Plan> {
    db.transaction(|db| {
        // Several processes may start at once, and diesel_migrations takes no lock. On SQLite the first statement of
        // the transaction must be a write, so that it waits for a rival instead of failing later.
        let lock = match db {
            Db::Postgres(_) => "SELECT pg_advisory_xact_lock(7281936450172)",
            Db::Sqlite(_) => "PRAGMA user_version = 1",
        };
        db.batch_execute(lock).context("waiting for other migrations")?;
        let plan = plan(db, wanted)?;
        if !plan.missing.is_empty() {
            match db {
                Db::Postgres(db) => run_postgres(db, plan.host)?,
                Db::Sqlite(db) => run(db, SQLITE)?,
            }
        }
        Ok(plan)
    })
}

fn run_postgres(db: &mut PgConnection, host: Host) -> Result<()> {
    // A role that owns the schema, but may not create one, is refused even when there is nothing to create.
    let create: bool = diesel::select(sql::<Bool>("to_regnamespace('sweep') IS NULL")).get_result(db)?;
    let create = if create { "CREATE SCHEMA sweep;" } else { "" };
    db.batch_execute(&format!("{create} SET LOCAL search_path = sweep"))
        .map_err(|error| config(format!("cannot create the schema sweep: {error}")))?;
    run(db, LEDGER)?;
    match host {
        Host::Native => run(db, NATIVE),
        Host::Paperclip => run(db, PAPERCLIP),
    }
}

fn run<C: MigrationHarness<DB>, DB: Backend>(db: &mut C, source: EmbeddedMigrations) -> Result<()> {
    match db.run_pending_migrations(source) {
        Ok(_) => Ok(()),
        Err(error) => Err(config(format!("the schema could not be created, nothing was changed: {error}")).into()),
    }
}

/// The host of a PostgreSQL database on which sweep has never been.
fn detect(db: &mut PgConnection, wanted: Option<Host>) -> Result<Host> {
    const THEIRS: &str = "SELECT relname::text FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'sweep') \
        AND nspname NOT LIKE 'pg\\_%'";
    let tables: BTreeSet<String> = sql::<Text>(THEIRS)
        .load(db)
        .context("looking for the host's tables")?
        .into_iter()
        .collect();
    let missing: Vec<&str> = PAPERCLIP_TABLES
        .into_iter()
        .filter(|&table| !tables.contains(table))
        .collect();
    match (wanted, missing.is_empty()) {
        (Some(Host::Native), _) => Ok(Host::Native),
        (_, true) => Ok(Host::Paperclip),
        (Some(Host::Paperclip), false) => Err(config(format!(
            "this is not Paperclip's database, it lacks the tables {}",
            missing.join(", ")
        ))
        .into()),
        (None, false) if tables.is_empty() => Ok(Host::Native),
        (None, false) => Err(config(format!(
            "this database is neither empty nor Paperclip's: it has {} tables, and lacks Paperclip's {}. \
             To put sweep's own tables beside them, in the schema sweep, run `sweep migrate --host native`",
            tables.len(),
            missing.join(", ")
        ))
        .into()),
    }
}

/// The SQL of a plan, for psql or sqlite3, with what diesel records of it.
pub fn print(db: &Db, plan: &Plan) -> String {
    let mut sql = String::from("begin;\n");
    if matches!(db, Db::Postgres(_)) {
        sql += "create schema if not exists sweep;\nset local search_path = sweep;\n";
    }
    sql += &format!(
        "create table if not exists {VERSIONS} (\n    version varchar(50) primary key not null,\n    \
         run_on timestamp not null default current_timestamp\n);\n"
    );
    for folder in &plan.missing {
        let file = FILES
            .get_file(format!("{folder}/up.sql"))
            .and_then(|file| file.contents_utf8())
            .unwrap_or_default();
        sql += &format!(
            "\n-- {folder}\n{file}insert into {VERSIONS} (version) values ('{}');\n",
            version(folder)
        );
    }
    sql + "commit;\n"
}
