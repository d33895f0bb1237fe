//! The schema: which host a database has, which migrations it lacks, and running them.
//!
//! One transaction under one lock: a database is migrated wholly or not at all, and several first starts at once are
//! safe.

mod source;
mod trust;
mod wanted;

use std::collections::BTreeSet;

use anyhow::{Context, Error, Result};
use diesel::backend::Backend;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};
use diesel_migrations::MigrationHarness;

use super::catalog::{
    VERSIONS, applied, folders, is_for, is_of_listening, made_by_others, name, relations, up, version,
};
use super::connection::{DbConnection, OURS};
use super::hosts::{self, Host};
use super::{Db, boards, rights};
use crate::conclusion::{config, unavailable, usage};
use source::Folders;
use trust::{is_duplicate, take_turn};
pub use wanted::{Listen, Superuser, Wanted};

/// What there is of sweep's schema.
#[derive(Default)]
struct Found {
    /// Whose migrations have run; of none, when sweep has never been here or only its ledger is.
    host: Option<&'static Host>,
    /// The versions of the migrations that have run.
    applied: BTreeSet<String>,
}

impl Found {
    /// The host's migrations that have not run, by folder.
    fn missing(&self, db: &Db, host: &Host, with: Listen) -> Vec<String> {
        let folders = folders(db, host);
        let (run, mut missing): (Vec<_>, Vec<_>) =
            folders.into_iter().partition(|folder| self.applied.contains(&version(folder)));
        // Who has listening has all of it, whoever migrates.
        let listens = with == Listen::Wanted || run.iter().any(|folder| is_of_listening(folder));
        missing.retain(|folder| listens || !is_of_listening(folder));
        missing
    }
}

/// The first migration of the first release: no migration leads on from those that were made before.
const FIRST: &str = "20261124001000";

/// Refuses a schema that is newer than this binary, and one that was made before the first release.
fn look(db: &mut Db) -> Result<Found> {
    let applied = applied(db)?;
    if applied.first().is_some_and(|first| first.as_str() < FIRST) {
        let anew = match db {
            Db::Postgres(_) => "run `drop schema sweep cascade`, then `sweep migrate`",
            Db::Sqlite(_) => "move the file away, then run `sweep migrate`",
        };
        return Err(config(format!(
            "the schema of the database {} was made by a version of sweep that was never released: to begin anew, \
                {anew}",
            name(db)?
        ))
        .into());
    }
    let of_host = |host| folders(db, host).iter().map(|folder| version(folder)).collect::<BTreeSet<_>>();
    let hosts = hosts::all().iter().filter(|host| is_for(db, host));
    let known: Vec<(&Host, BTreeSet<String>)> = hosts.map(|&host| (host, of_host(host))).collect();
    let is_known = |version: &&String| known.iter().any(|(_, versions)| versions.contains(*version));
    let is_shared = |version: &&String| known.iter().all(|(_, versions)| versions.contains(*version));
    let unknown: Vec<&str> = applied.iter().filter(|version| !is_known(version)).map(String::as_str).collect();
    if !unknown.is_empty() {
        return Err(config(format!(
            "the schema of the database {} is newer than sweep {}, it has {}: upgrade sweep",
            name(db)?,
            env!("CARGO_PKG_VERSION"),
            unknown.join(", ")
        ))
        .into());
    }
    // The ledger, which every host has, shows nothing.
    let of_host = applied.iter().find(|version| known.len() == 1 || !is_shared(version));
    let host = of_host.and_then(|version| known.iter().find(|(_, versions)| versions.contains(version)));
    Ok(Found { host: host.map(|(host, _)| *host), applied })
}

/// The host and the latest migration of a database whose schema is current; refuses every other one. The role's rights
/// are checked before.
pub fn check(db: &mut Db) -> Result<(&'static Host, String)> {
    let found = look(db)?;
    let Some(host) = found.host else { return refuse_unmigrated(db) };
    match found.missing(db, host, Listen::AsItIs).as_slice() {
        [] => {
            refuse_broken(db, host)?;
            Ok((host, found.applied.last().cloned().unwrap_or_default()))
        }
        [first, ..] => Err(config(format!(
            "the schema of the database {} is behind this sweep, it lacks {first}: run `sweep migrate`",
            name(db)?
        ))
        .into()),
    }
}

pub(super) fn refuse_unmigrated<T>(db: &mut Db) -> Result<T> {
    Err(config(format!("the database {} is not set up for sweep: run `sweep migrate`", name(db)?)).into())
}

/// What a migration did, or would do.
#[derive(Debug, PartialEq)]
pub struct MigrationPlan {
    pub host: &'static Host,
    /// The folders of the migrations that are missing, in the order in which they run.
    pub missing: Vec<String>,
}

/// What `migrate` would do.
pub fn plan(db: &mut Db, wanted: Wanted) -> Result<MigrationPlan> {
    if wanted.listen == Listen::Wanted && matches!(db, Db::Sqlite(_)) {
        return Err(usage("only PostgreSQL can notify of runs that end").into());
    }
    let is_there = match db {
        Db::Postgres(db) => {
            let is_there = trust::refuse_strangers(db)?;
            rights::check_version(db)?;
            is_there
        }
        Db::Sqlite(_) => true,
    };
    let found = if is_there { look(db)? } else { Found::default() };
    let host = match (found.host, &mut *db) {
        (Some(host), _) => host,
        (None, Db::Postgres(db)) => hosts::detect(db, wanted.host)?,
        (None, Db::Sqlite(sqlite)) => match made_by_others(sqlite)?.as_slice() {
            [] => hosts::native(),
            theirs => {
                let (file, theirs) = (name(db)?, theirs.join(", "));
                return Err(config(format!("{file} is neither empty nor sweep's: it has {theirs}")).into());
            }
        },
    };
    match wanted.host {
        Some(wanted) if wanted != host => {
            Err(config(format!("this database's host is {}, and not {}", host.name(), wanted.name())).into())
        }
        Some(_) | None => {
            let missing = found.missing(db, host, wanted.listen);
            if let (Db::Postgres(db), false) = (db, missing.is_empty()) {
                trust::refuse_others_triggers(db, host, wanted)?;
            }
            Ok(MigrationPlan { host, missing })
        }
    }
}

/// Runs what is missing, in one transaction under one lock: several processes may start at once, and diesel_migrations
/// takes none.
pub fn migrate(db: &mut DbConnection, wanted: Wanted) -> Result<MigrationPlan> {
    if db.is_sqlite() {
        // Another program's file is refused before anything of it is changed; in one snapshot, as a rival may migrate
        // now.
        db.look(|db| plan(db, wanted))?;
    }
    let mut migrated = db.migrate(|db| migrate_in_transaction(db, wanted));
    // A rival was faster with the schema itself: it is there now.
    if migrated.as_ref().is_err_and(is_duplicate) {
        migrated = db.migrate(|db| migrate_in_transaction(db, wanted));
    }
    // A server that went away comes back; a schema that does not fit stays as it is.
    migrated.map_err(|error: Error| match db.is_alive() {
        true => error,
        false => unavailable(format!("the connection was lost: {error:#}")).into(),
    })
}

fn migrate_in_transaction(db: &mut Db, wanted: Wanted) -> Result<MigrationPlan> {
    let found = plan(db, wanted)?;
    if found.missing.is_empty() {
        refuse_broken(db, found.host)?;
        prepare_boards(db)?;
        return Ok(found);
    }
    if let Db::Postgres(db) = db {
        take_turn(db).context("waiting for other migrations")?;
    }
    // A rival may have been faster.
    let plan = plan(db, wanted)?;
    match db {
        Db::Postgres(db) => {
            db.batch_execute(&format!("SET LOCAL search_path = {OURS}"))?;
            run(db, &plan, false)?;
        }
        Db::Sqlite(db) => run(db, &plan, true)?,
    }
    prepare_boards(db)?;
    Ok(plan)
}

/// Writes what the boards' views need, where it is not there: they may be of another version than those that went
/// before, and their row may have been lost.
fn prepare_boards(db: &mut Db) -> Result<()> {
    if let Db::Postgres(db) = db {
        db.batch_execute(&format!("SET LOCAL search_path = {OURS}"))?;
    }
    if boards::is_prepared(db).context("reading the table policy")? {
        return Ok(());
    }
    let statement = boards::preparation();
    match db {
        Db::Postgres(db) => db.batch_execute(&statement),
        Db::Sqlite(db) => db.batch_execute(&statement),
    }
    .context("writing the table policy")
}

fn run<C: MigrationHarness<DB>, DB: Backend>(db: &mut C, plan: &MigrationPlan, is_sqlite: bool) -> Result<()> {
    match db.run_pending_migrations(Folders { folders: &plan.missing, host: plan.host, is_sqlite }) {
        Ok(_) => Ok(()),
        Err(error) => Err(config(format!("the schema could not be created, nothing was changed: {error}")).into()),
    }
}

/// The SQL of a plan, for psql or sqlite3, with what diesel records of it.
pub fn print(db: &DbConnection, plan: &MigrationPlan, wanted: Wanted) -> String {
    let mut sql = match db.is_sqlite() {
        true => "begin;\n".to_owned(),
        // Whose schema it is is asked once it is there: whoever makes it in between is found out.
        false => format!(
            "begin; set local search_path = pg_catalog, pg_temp;\ncreate schema if not exists sweep;\n{}\
             set local search_path = {OURS};\n",
            trust::guard(plan.host, wanted)
        ),
    };
    sql += &format!(
        "create table if not exists {VERSIONS} (\n    version varchar(50) primary key not null,\n    \
         run_on timestamp not null default current_timestamp\n);\n"
    );
    for folder in &plan.missing {
        let file = up(folder, plan.host, db.is_sqlite());
        sql += &format!("\n-- {folder}\n{file}insert into {VERSIONS} (version) values ('{}');\n", version(folder));
    }
    sql + &boards::preparation() + "commit;\n"
}

/// A relation that is gone must not look like a kind of work that there is none of.
fn refuse_broken(db: &mut Db, host: &Host) -> Result<()> {
    let gone = gone(db, &relations(db, host)).context("looking for what migrations made")?;
    if gone.is_empty() {
        return Ok(());
    }
    let is = if gone.len() == 1 { "is" } else { "are" };
    Err(config(format!(
        "the schema of the database {} is broken: {} {is} gone, which `sweep migrate` made. Restore it, as \
            docs/operating.md says",
        name(db)?,
        gone.join(", ")
    ))
    .into())
}

/// Those of our tables and views that are not there.
fn gone(db: &mut Db, relations: &[String]) -> QueryResult<Vec<String>> {
    match db {
        Db::Postgres(db) => sql::<Text>("SELECT 'sweep.' || name FROM unnest(")
            .bind::<Array<Text>, _>(relations)
            .sql(") name WHERE to_regclass('sweep.' || name) IS NULL")
            .load(db),
        Db::Sqlite(db) => {
            let there: Vec<String> = sql::<Text>("SELECT name FROM sqlite_master").load(db)?;
            Ok(relations.iter().filter(|name| !there.contains(name)).cloned().collect())
        }
    }
}
