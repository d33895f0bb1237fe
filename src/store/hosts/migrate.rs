//! The schema: which host a database has, which migrations it lacks, and running them.
//!
//! One transaction under one lock: a database is migrated wholly or not at all, and several first starts at once are
//! safe.

mod trust;
mod uninstall;

use std::collections::BTreeSet;
use std::fmt::{Display, Formatter};
use std::sync::Arc;

use anyhow::{Context, Error, Result, bail, ensure};
use diesel::connection::{BoxableConnection, SimpleConnection};
use diesel::migration::{self, Migration, MigrationMetadata, MigrationName, MigrationVersion};
use diesel::prelude::*;
use diesel_migrations::MigrationHarness;

use crate::conclusion::{Failure, config, unavailable, usage};
use crate::store::Db;
use crate::store::db::MultiBackend;
use crate::store::db::connection::{DbConnection, OURS};
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog::{
    VERSIONS, applied, down, folders, is_derived, is_guest, is_of_listening, name, prefix, up, version,
    version_of_the_ledger,
};
use crate::store::hosts::folders::{self, Host, RECORD, SchemaRecord, made};
use crate::store::hosts::{boards, contract, guest, rights};
use trust::{is_duplicate, refuse_strangers, take_turn};

pub(in crate::store) use trust::refuse_lending;
pub use trust::{Listen, Superuser, Wanted};
pub use uninstall::{Extent, Removal, print_removal, removal, uninstall};

/// The host and the latest migration of a database whose schema is current; refuses every other one. The role's rights
/// are checked before.
pub fn check(db: &mut Db, set_up: SetUp) -> Result<(Arc<Host>, String)> {
    let (found, gone) = match set_up {
        SetUp::Recorded => read_record(db)?,
        SetUp::Unknown => (read_schema(db)?, None),
    };
    let Some(host) = &found.host else { return refuse_unmigrated(db) };
    refuse_untrusted(db, host)?;
    if let Some(first) = found.missing(db, host, Listen::AsItIs).first() {
        let name = name(db)?;
        bail!(config(format!(
            "the schema of the database {name} is behind this sweep, it lacks {first}: run `sweep migrate`"
        )));
    }
    match gone {
        Some(gone) => refuse_without(db, &gone)?,
        None => refuse_broken(db)?,
    }
    Ok((host.clone(), found.applied.last().cloned().unwrap_or_default()))
}

/// What a migration did, or would do.
#[derive(Debug, PartialEq)]
pub struct MigrationPlan {
    pub host: Arc<Host>,
    /// The folders of the migrations that are missing, in the order in which they run.
    pub missing: Vec<String>,
}

/// What `migrate` would do.
pub fn plan(db: &mut Db, wanted: &Wanted) -> Result<MigrationPlan> {
    let can_listen = wanted.listen == Listen::AsItIs || db.dialect() == Dialect::Postgres;
    ensure!(can_listen, usage("only PostgreSQL can notify of runs that end"));
    let is_there = match db {
        Db::Postgres(db) => {
            let is_there = refuse_strangers(db)?;
            rights::check_version(db)?;
            is_there
        }
        Db::Sqlite(_) => true,
    };
    let found = if is_there { read_schema(db)? } else { FoundSchema::default() };
    let host = match &found.host {
        Some(host) => changed(db, &found, host, wanted)?,
        None => folders::detect(db, wanted.host.clone())?,
    };
    let missing = found.missing(db, &host, wanted.listen);
    if !missing.is_empty() {
        folders::refuse_unfit(db, &host)?;
        if let Db::Postgres(db) = db {
            trust::refuse_others(db, &host, wanted)?;
        }
    }
    Ok(MigrationPlan { host, missing })
}

/// The recorded host, or what the operator has made of it. What has run is not run again, so a change of it would be
/// lost.
fn changed(db: &mut Db, found: &FoundSchema, host: &Arc<Host>, wanted: &Wanted) -> Result<Arc<Host>> {
    let Some(wanted) = &wanted.host else {
        refuse_untrusted(db, host)?;
        return Ok(host.clone());
    };
    let (its, other) = (host.name(), wanted.name());
    ensure!(its == other, config(format!("this database's host is {its}, and not {other}")));
    let dialect = db.dialect();
    let has_run = |folder: &&String| found.applied.contains(&version(folder));
    for folder in folders(db, host).iter().filter(has_run) {
        let texts = |of: &Host| Ok::<_, Error>((up(folder, of, dialect)?, down(folder, of, dialect)?));
        ensure!(
            texts(host)? == texts(wanted)?,
            config(format!(
                "{folder} has run in this database and is another one now: leave it as it was, and make a migration \
                 that leads on from it"
            ))
        );
    }
    Ok(wanted.clone())
}

/// Runs what is missing, in one transaction under one lock, since several processes may start at once.
pub fn migrate(db: &mut DbConnection, wanted: &Wanted) -> Result<MigrationPlan> {
    // Another program's file is refused before anything of it is changed; in one snapshot, as a rival may migrate now.
    if db.is_sqlite() && db.look(|db| plan(db, wanted))?.host.is_native() {
        db.is_ours()?;
    }
    let mut migrated = db.migrate(|db| migrate_in_transaction(db, wanted));
    // A rival was faster with the schema itself: it is there now.
    if migrated.as_ref().is_err_and(|error| error.downcast_ref().is_some_and(is_duplicate)) {
        migrated = db.migrate(|db| migrate_in_transaction(db, wanted));
    }
    // A server that went away comes back; a schema that does not fit stays as it is.
    migrated.map_err(|error: Error| match db.is_alive() {
        true => error,
        false => unavailable(format!("the connection was lost: {error:#}")).into(),
    })
}

fn migrate_in_transaction(db: &mut Db, wanted: &Wanted) -> Result<MigrationPlan> {
    let found = plan(db, wanted)?;
    if found.missing.is_empty() && folders::recorded(db)?.is_some_and(|recorded| recorded == found.host) {
        refuse_broken(db)?;
        use_our_names(db)?;
        refuse_altered(db)?;
        prepare_boards(db)?;
        return Ok(found);
    }
    if let Db::Postgres(db) = db {
        take_turn(db).context("waiting for other migrations")?;
    }
    // A rival may have been faster.
    let plan = plan(db, wanted)?;
    use_our_names(db)?;
    let table = table_of_versions(&plan.host, db.dialect());
    db.batch_execute(&table).map_err(|error| not_created(&error.to_string()))?;
    let is_guest = is_guest(db, &plan.host);
    if let (Db::Sqlite(db), true) = (&mut *db, is_guest) {
        guest::present_tables(db).context("showing diesel the table of versions")?;
    }
    // What is derived needs all that the host has to make.
    let (derived, first): (Vec<&String>, Vec<&String>) = plan.missing.iter().partition(|folder| is_derived(folder));
    run(db, &plan.host, &first)?;
    if let (Db::Sqlite(db), true) = (&mut *db, is_guest) {
        guest::make_views(db, &plan.host)?;
    }
    contract::refuse_unlike(db, &plan.host)?;
    run(db, &plan.host, &derived)?;
    folders::record(db, &plan.host)?;
    prepare_boards(db)?;
    if let Db::Postgres(db) = db {
        trust::refuse_what_was_made(db, &plan.host, wanted)?;
    }
    Ok(plan)
}

fn use_our_names(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Postgres(db) => db.batch_execute(&format!("SET LOCAL search_path = {OURS}")),
        Db::Sqlite(_) => Ok(()),
    }
}

/// Writes what the boards' views need, where it is not there: they may be of another version than those that went
/// before, and their row may have been lost.
fn prepare_boards(db: &mut Db) -> Result<()> {
    if boards::is_prepared(db).context("reading the table policy")? {
        return Ok(());
    }
    db.batch_execute(&boards::preparation("", db.dialect())).context("writing the table policy")
}

fn run(db: &mut Db, host: &Host, folders: &[&String]) -> Result<()> {
    let dialect = db.dialect();
    for path in folders {
        let folder = Folder { path, up: up(path, host, dialect)?, down: down(path, host, dialect)? };
        db.run_migration(&folder).map_err(|error| not_created(&format!("{path}: {error}")))?;
    }
    Ok(())
}

/// A migration as diesel runs and records it.
struct Folder<'a> {
    path: &'a str,
    up: String,
    down: String,
}

impl Migration<MultiBackend> for Folder<'_> {
    fn run(&self, db: &mut dyn BoxableConnection<MultiBackend>) -> migration::Result<()> {
        Ok(db.batch_execute(&self.up)?)
    }

    fn revert(&self, db: &mut dyn BoxableConnection<MultiBackend>) -> migration::Result<()> {
        Ok(db.batch_execute(&self.down)?)
    }

    fn metadata(&self) -> &dyn MigrationMetadata {
        self
    }

    fn name(&self) -> &dyn MigrationName {
        self
    }
}

impl MigrationMetadata for Folder<'_> {}

impl MigrationName for Folder<'_> {
    fn version(&self) -> MigrationVersion<'_> {
        MigrationVersion::from(version(self.path))
    }
}

impl Display for Folder<'_> {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(self.path)
    }
}

fn not_created(why: &str) -> Failure {
    config(format!("the schema could not be created, nothing was changed: {why}"))
}

/// The statement that makes diesel's table of the migrations that have run, if it is not there.
fn table_of_versions(host: &Host, dialect: Dialect) -> String {
    format!(
        "create table if not exists {}{VERSIONS} (\n    version varchar(50) primary key not null,\n    \
         run_on timestamp not null default current_timestamp\n);\n",
        prefix(host, dialect)
    )
}

/// The SQL of a plan, for psql or sqlite3.
pub fn print(db: &DbConnection, plan: &MigrationPlan, wanted: &Wanted) -> Result<String> {
    let (host, dialect) = (&plan.host, db.dialect());
    // It is asked whose the schema is once it is there: whoever makes it in between is found out. What was made may be
    // others' to write, by the owner's default privileges, or use what is a stranger's.
    let (begin, guard) = match dialect {
        Dialect::Postgres => {
            let guard = trust::guard(host, wanted);
            let begin = "begin; set local search_path = pg_catalog, pg_temp;\ncreate schema if not exists sweep;\n";
            (format!("{begin}{guard}set local search_path = {OURS};\n"), guard)
        }
        Dialect::Sqlite => ("begin;\n".to_owned(), String::new()),
    };
    let mut sql = begin + &table_of_versions(host, dialect);
    for folder in &plan.missing {
        let (statements, prefix, version) = (up(folder, host, dialect)?, prefix(host, dialect), version(folder));
        let recorded = format!("insert into {prefix}{VERSIONS} (version) values ('{version}');");
        sql += &format!("\n-- {folder}\n{statements}{recorded}\n");
    }
    sql += &folders::statements(host, dialect);
    sql += &boards::preparation(prefix(host, dialect), dialect);
    Ok(sql + &guard + "commit;\n")
}

/// What there is of sweep's schema.
#[derive(Default)]
struct FoundSchema {
    /// None: sweep has never been here.
    pub host: Option<Arc<Host>>,
    /// The versions of the migrations that have run.
    pub applied: BTreeSet<String>,
}

impl FoundSchema {
    /// The folders of the host's migrations that have not run.
    fn missing(&self, db: &Db, host: &Host, with: Listen) -> Vec<String> {
        let folders = folders(db, host);
        let (run, mut missing): (Vec<_>, Vec<_>) =
            folders.into_iter().partition(|folder| self.applied.contains(&version(folder)));
        // A database with listening has all of it, whoever migrates.
        let listens = with == Listen::Wanted || run.iter().any(|folder| is_of_listening(folder));
        missing.retain(|folder| listens || !is_of_listening(folder));
        missing
    }
}

/// What says how far a schema is, and whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetUp {
    /// It is in its two tables, the host's and the versions'.
    Recorded,
    /// There may be neither.
    Unknown,
}

/// Reads both tables, and which relations are gone, in one round trip; of an empty record, as if nothing were known.
fn read_record(db: &mut Db) -> Result<(FoundSchema, Option<Vec<String>>)> {
    let Some(recorded) = SchemaRecord::read(db)? else { return Ok((read_schema(db)?, None)) };
    let applied = recorded.versions.iter().cloned().collect();
    Ok((known(db, applied, |_| recorded.row.host().map(Some))?, Some(recorded.gone)))
}

/// Refuses a schema that is newer than this binary, and one that was made before the first release.
fn read_schema(db: &mut Db) -> Result<FoundSchema> {
    let applied = applied(db)?;
    if applied.is_empty() {
        return Ok(FoundSchema::default());
    }
    known(db, applied, folders::recorded)
}

fn known(
    db: &mut Db,
    applied: BTreeSet<String>,
    host: impl FnOnce(&mut Db) -> Result<Option<Arc<Host>>>,
) -> Result<FoundSchema> {
    if !applied.contains(&version_of_the_ledger()) {
        let anew = match db {
            Db::Postgres(_) => "run `drop schema sweep cascade`, then `sweep migrate`",
            Db::Sqlite(_) => "move the file away, then run `sweep migrate`",
        };
        bail!(config(format!(
            "the schema of the database {} was made by a version of sweep that was never released: to begin anew, \
                {anew}",
            name(db)?
        )));
    }
    let Some(host) = host(db)? else { bail!(is_broken(db, &[RECORD.to_owned()])?) };
    let known: BTreeSet<String> = folders(db, &host).iter().map(|folder| version(folder)).collect();
    let unknown: Vec<&str> = applied.difference(&known).map(String::as_str).collect();
    if !unknown.is_empty() {
        let (name, version, unknown) = (name(db)?, env!("CARGO_PKG_VERSION"), unknown.join(", "));
        bail!(config(format!(
            "the schema of the database {name} is newer than sweep {version}, it has {unknown}: upgrade sweep"
        )));
    }
    Ok(FoundSchema { host: Some(host), applied })
}

/// Refuses a SQLite file whose host's SQL is known from that file alone. On PostgreSQL only the owner of the schema
/// could have written that SQL, who is trusted.
fn refuse_untrusted(db: &mut Db, host: &Host) -> Result<()> {
    match db {
        Db::Postgres(_) => Ok(()),
        Db::Sqlite(_) => Ok(host.refuse_untrusted(&name(db)?)?),
    }
}

pub(in crate::store) fn refuse_unmigrated<T>(db: &mut Db) -> Result<T> {
    bail!(config(format!("the database {} is not set up for sweep: run `sweep migrate`", name(db)?)))
}

const LOOKING: &str = "looking for what migrations made";

/// A relation that is gone must not look like a kind of work that there is none of.
fn refuse_broken(db: &mut Db) -> Result<()> {
    let gone = made::gone(db).context(LOOKING)?;
    refuse_without(db, &gone)
}

/// Refuses a schema of which something is defined in another way now: a view that somebody has replaced may hold
/// anything.
pub(in crate::store) fn refuse_altered(db: &mut Db) -> Result<()> {
    let altered = made::altered(db).context(LOOKING)?;
    ensure!(altered.is_empty(), is_no_longer(db, &altered, "altered since `sweep migrate` made it")?);
    Ok(())
}

/// Refuses a schema of which this is gone, if anything is.
fn refuse_without(db: &mut Db, gone: &[String]) -> Result<()> {
    if gone.is_empty() { Ok(()) } else { Err(is_broken(db, gone)?.into()) }
}

fn is_broken(db: &mut Db, gone: &[String]) -> QueryResult<Failure> {
    is_no_longer(db, gone, "gone or disabled, which `sweep migrate` made")
}

/// What the error says of these names of what was made.
fn is_no_longer(db: &mut Db, names: &[String], as_it_was: &str) -> QueryResult<Failure> {
    let is = if names.len() == 1 { "is" } else { "are" };
    Ok(config(format!(
        "the schema of the database {} is broken: {} {is} {as_it_was}. Restore it, as docs/operating.md says",
        name(db)?,
        names.join(", ")
    )))
}
