//! What an operator wants of sweep's schema, what there is of it in a database, and what of that must not be used.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::prelude::*;

use crate::conclusion::{Failure, config};
use crate::store::Db;
use crate::store::hosts::catalog::{applied, folders, is_of_listening, name, version, version_of_the_ledger};
use crate::store::hosts::folders::{self, Host, RECORD, SchemaRecord};

/// What an operator wants of a migration.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// None: as it is detected.
    pub host: Option<Arc<Host>>,
    pub listen: Listen,
    pub superuser: Superuser,
}

/// Should a host that brings no such trigger itself notify at once of runs that end?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Listen {
    #[default]
    AsItIs,
    Wanted,
}

/// May a superuser migrate who does not own the host's tables?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Superuser {
    #[default]
    Refused,
    /// The operator says so.
    Accepted,
}

/// What there is of sweep's schema.
#[derive(Default)]
pub struct FoundSchema {
    /// None: sweep has never been here.
    pub host: Option<Arc<Host>>,
    /// The versions of the migrations that have run.
    pub applied: BTreeSet<String>,
}

impl FoundSchema {
    /// The folders of the host's migrations that have not run.
    pub fn missing(&self, db: &Db, host: &Host, with: Listen) -> Vec<String> {
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
pub fn read_record(db: &mut Db) -> Result<(FoundSchema, Option<Vec<String>>)> {
    let Some(recorded) = SchemaRecord::read(db)? else { return Ok((read_schema(db)?, None)) };
    let applied = recorded.versions.iter().cloned().collect();
    Ok((known(db, applied, |_| recorded.host().map(Some))?, Some(recorded.gone)))
}

/// Refuses a schema that is newer than this binary, and one that was made before the first release.
pub fn read_schema(db: &mut Db) -> Result<FoundSchema> {
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
        return Err(config(format!(
            "the schema of the database {} was made by a version of sweep that was never released: to begin anew, \
                {anew}",
            name(db)?
        ))
        .into());
    }
    let Some(host) = host(db)? else { return Err(is_broken(db, &[RECORD.to_owned()])?.into()) };
    let known: BTreeSet<String> = folders(db, &host).iter().map(|folder| version(folder)).collect();
    let unknown: Vec<&str> = applied.difference(&known).map(String::as_str).collect();
    if !unknown.is_empty() {
        return Err(config(format!(
            "the schema of the database {} is newer than sweep {}, it has {}: upgrade sweep",
            name(db)?,
            env!("CARGO_PKG_VERSION"),
            unknown.join(", ")
        ))
        .into());
    }
    Ok(FoundSchema { host: Some(host), applied })
}

/// Refuses a SQLite file whose host's SQL is known from that file alone. On PostgreSQL only the owner of the schema
/// could have written that SQL, who is trusted.
pub fn refuse_untrusted(db: &mut Db, host: &Host) -> Result<()> {
    match db {
        Db::Postgres(_) => Ok(()),
        Db::Sqlite(_) => Ok(host.refuse_untrusted(&name(db)?)?),
    }
}

pub fn refuse_unmigrated<T>(db: &mut Db) -> Result<T> {
    Err(config(format!("the database {} is not set up for sweep: run `sweep migrate`", name(db)?)).into())
}

/// A relation that is gone must not look like a kind of work that there is none of.
pub fn refuse_broken(db: &mut Db) -> Result<()> {
    let gone = folders::gone(db).context("looking for what migrations made")?;
    refuse_without(db, &gone)
}

/// Refuses a schema of which these relations are gone, if there are any.
pub fn refuse_without(db: &mut Db, gone: &[String]) -> Result<()> {
    if gone.is_empty() { Ok(()) } else { Err(is_broken(db, gone)?.into()) }
}

fn is_broken(db: &mut Db, gone: &[String]) -> QueryResult<Failure> {
    let is = if gone.len() == 1 { "is" } else { "are" };
    Ok(config(format!(
        "the schema of the database {} is broken: {} {is} gone, which `sweep migrate` made. Restore it, as \
            docs/operating.md says",
        name(db)?,
        gone.join(", ")
    )))
}
