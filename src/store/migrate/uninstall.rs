//! Removing sweep from a database: what it made is undone, the last first, and the database is as it was before. What
//! somebody else has built on it stands in the way, and is named.

use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Text};

use super::found::{look, refuse_unmigrated};
use super::trust;
use super::wanted::Wanted;
use crate::conclusion::config;
use crate::store::catalog::{VERSIONS, down, folders, prefix, version};
use crate::store::connection::{DbConnection, OURS};
use crate::store::hosts::Host;
use crate::store::{Db, errors};

/// What goes.
pub struct Removal {
    pub host: Arc<Host>,
    /// The folders of the migrations that have run, the last first.
    pub folders: Vec<String>,
    /// Each table that sweep made, with how many rows it has.
    pub tables: Vec<(String, i64)>,
}

impl Removal {
    /// Are the agents and issues among it?
    pub fn holds_the_work(&self) -> bool {
        self.host.is_native()
    }
}

/// What removing sweep would take away.
pub fn removal(db: &mut Db) -> Result<Removal> {
    let is_there = match db {
        Db::Postgres(db) => trust::refuse_strangers(db)?,
        Db::Sqlite(_) => true,
    };
    let found = if is_there { look(db)? } else { return refuse_unmigrated(db) };
    let Some(host) = found.host else { return refuse_unmigrated(db) };
    let run = folders(db, &host).into_iter().rev().filter(|folder| found.applied.contains(&version(folder)));
    let folders = run.collect();
    let tables = tables(db).context("counting what is removed")?;
    Ok(Removal { host, folders, tables })
}

/// Removes it, wholly or not at all.
pub fn uninstall(db: &mut DbConnection) -> Result<Removal> {
    if db.look(removal)?.host.is_native() {
        db.is_ours()?;
    }
    let is_sqlite = db.is_sqlite();
    db.migrate(|db| {
        if let Db::Postgres(db) = db {
            trust::take_turn(db).context("waiting for migrations")?;
        }
        let removal = removal(db)?;
        for (what, statements) in statements(&removal, is_sqlite)? {
            let undone = match db {
                Db::Postgres(db) => db.batch_execute(&statements),
                Db::Sqlite(db) => db.batch_execute(&statements),
            };
            undone.map_err(|error| config(format!("nothing was removed: {what}: {}", with_detail(&error))))?;
        }
        Ok(removal)
    })
}

/// The same for psql or sqlite3.
pub fn print_removal(db: &DbConnection, removal: &Removal) -> Result<String> {
    let begin = match db.is_sqlite() {
        true => "begin;\n".to_owned(),
        false => {
            let guard = trust::guard(&removal.host, &Wanted::default());
            format!("begin; set local search_path = pg_catalog, pg_temp;\n{guard}")
        }
    };
    let undone = statements(removal, db.is_sqlite())?.into_iter();
    let undone: String = undone.map(|(what, statements)| format!("\n-- {what}\n{statements}")).collect();
    Ok(format!("{begin}{undone}commit;\n"))
}

/// Each with what it is about.
fn statements(removal: &Removal, is_sqlite: bool) -> Result<Vec<(String, String)>> {
    let host = &*removal.host;
    let versions = format!("drop table {}{VERSIONS};\n", prefix(host, is_sqlite));
    let (first, last) = match is_sqlite {
        true => (String::new(), versions),
        false => (format!("set local search_path = {OURS};\n"), format!("{versions}drop schema sweep;\n")),
    };
    let undone = removal.folders.iter().map(|folder| Ok((folder.clone(), down(folder, host, is_sqlite)?)));
    let undone = undone.collect::<Result<Vec<_>>>()?;
    let names = ("where names are looked up".to_owned(), first);
    Ok([names].into_iter().chain(undone).chain([("what is left".to_owned(), last)]).collect())
}

/// What depends on it, as PostgreSQL says.
fn with_detail(error: &Error) -> String {
    let detail = match error {
        Error::DatabaseError(_, information) => information.details().map(|detail| detail.replace('\n', "; ")),
        _ => None,
    };
    let error = errors::error_chain(error);
    detail.map_or(error.clone(), |detail| format!("{error} ({detail})"))
}

fn tables(db: &mut Db) -> QueryResult<Vec<(String, i64)>> {
    const ON_POSTGRES: &str = "SELECT 'sweep.' || quote_ident(relname) FROM pg_class \
        WHERE relnamespace = 'sweep'::regnamespace AND relkind = 'r' ORDER BY relname";
    const ON_SQLITE: &str = "SELECT value FROM host, json_each(relations) JOIN main.sqlite_master m ON m.name = value \
        WHERE m.type = 'table' ORDER BY value";
    let names: Vec<String> = match db {
        Db::Postgres(db) => sql::<Text>(ON_POSTGRES).load(db)?,
        Db::Sqlite(db) => sql::<Text>(ON_SQLITE).load(db)?,
    };
    let rows = |db: &mut Db, name: &str| {
        let count = format!("SELECT count(*) FROM {name}");
        match db {
            Db::Postgres(db) => sql::<BigInt>(&count).get_result(db),
            Db::Sqlite(db) => sql::<BigInt>(&count).get_result(db),
        }
    };
    names.into_iter().map(|name| rows(db, &name).map(|rows| (name, rows))).collect()
}
