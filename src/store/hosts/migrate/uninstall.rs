//! Removing sweep from a database: what it made is undone, the last first, and the database is as it was before; or all
//! but its ledger, so that the host can change its tables. What somebody else has built on it stands in the way, and is
//! named.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{BigInt, Text};

use super::trust::{self, Wanted};
use super::{read_schema, refuse_unmigrated, refuse_untrusted};
use crate::conclusion::{config, usage};
use crate::store::Db;
use crate::store::db::connection::{DbConnection, OURS};
use crate::store::db::dialect::Dialect;
use crate::store::db::errors;
use crate::store::hosts::catalog::{VERSIONS, down, folders, is_of_the_ledger, prefix, quoted, version};
use crate::store::hosts::folders::Host;

/// How much goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Everything,
    /// The views over the host's tables and its triggers go, and the next `sweep migrate` makes them again.
    AllButTheLedger,
}

/// What goes.
pub struct Removal {
    pub host: Arc<Host>,
    pub extent: Extent,
    /// The folders of the migrations that have run, the last first.
    pub folders: Vec<String>,
    /// Each table that sweep made and that goes, with how many rows it has.
    pub tables: Vec<(String, i64)>,
}

/// What removing sweep would take away.
pub fn removal(db: &mut Db, extent: Extent) -> Result<Removal> {
    let is_there = match db {
        Db::Postgres(db) => trust::refuse_strangers(db)?,
        Db::Sqlite(_) => true,
    };
    let found = if is_there { read_schema(db)? } else { return refuse_unmigrated(db) };
    let Some(host) = found.host else { return refuse_unmigrated(db) };
    refuse_untrusted(db, &host)?;
    let run = folders(db, &host).into_iter().rev().filter(|folder| found.applied.contains(&version(folder)));
    let (folders, tables) = match extent {
        Extent::Everything => (run.collect(), tables(db).context("counting what is removed")?),
        Extent::AllButTheLedger if host.is_native() || db.dialect() == Dialect::Sqlite => {
            bail!(usage(
                "--keep-ledger is for another program's tables on PostgreSQL: here, no view of sweep's stands \
                 over any",
            ));
        }
        Extent::AllButTheLedger => (run.filter(|folder| !is_of_the_ledger(folder)).collect(), Vec::new()),
    };
    Ok(Removal { host, extent, folders, tables })
}

/// Removes it, wholly or not at all.
pub fn uninstall(db: &mut DbConnection, extent: Extent) -> Result<Removal> {
    if db.look(|db| removal(db, extent))?.host.is_native() {
        db.is_ours()?;
    }
    db.migrate(|db| {
        if let Db::Postgres(db) = db {
            trust::take_turn(db).context("waiting for migrations")?;
        }
        let removal = removal(db, extent)?;
        for (what, statements) in statements(&removal, db.dialect())? {
            db.batch_execute(&statements)
                .map_err(|error| config(format!("nothing was removed: {what}: {}", with_detail(&error))))?;
        }
        Ok(removal)
    })
}

/// The SQL that removes it, for psql or sqlite3.
pub fn print_removal(db: &DbConnection, removal: &Removal) -> Result<String> {
    let begin = match db.dialect() {
        Dialect::Postgres => {
            let guard = trust::guard(&removal.host, &Wanted::default());
            format!("begin; set local search_path = pg_catalog, pg_temp;\n{guard}")
        }
        Dialect::Sqlite => "begin;\n".to_owned(),
    };
    let undone = statements(removal, db.dialect())?.into_iter();
    let undone: String = undone.map(|(what, statements)| format!("\n-- {what}\n{statements}")).collect();
    Ok(format!("{begin}{undone}commit;\n"))
}

/// The statements that undo what was made, each with what it is about.
fn statements(removal: &Removal, dialect: Dialect) -> Result<Vec<(String, String)>> {
    let host = &*removal.host;
    let versions = format!("{}{VERSIONS}", prefix(host, dialect));
    let gone: Vec<String> = removal.folders.iter().map(|folder| version(folder)).collect();
    let last = match (removal.extent, dialect) {
        (Extent::AllButTheLedger, _) => format!("delete from {versions} where version in ('{}');\n", gone.join("', '")),
        (Extent::Everything, Dialect::Sqlite) => format!("drop table {versions};\n"),
        (Extent::Everything, Dialect::Postgres) => format!("drop table {versions};\ndrop schema sweep;\n"),
    };
    let first = match dialect {
        Dialect::Postgres => format!("set local search_path = {OURS};\n"),
        Dialect::Sqlite => String::new(),
    };
    let undone = removal.folders.iter().map(|folder| Ok((folder.clone(), down(folder, host, dialect)?)));
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
    const ON_SQLITE: &str = "SELECT key FROM host, json_each(made) JOIN main.sqlite_master m ON m.name = key \
        WHERE m.type = 'table' ORDER BY key";
    let dialect = db.dialect();
    let names = if dialect == Dialect::Sqlite { ON_SQLITE } else { ON_POSTGRES };
    let names: Vec<String> = sql::<Text>(names).load(db)?;
    let mut rows = |name: &str| {
        let table = if dialect == Dialect::Sqlite { quoted(name) } else { name.to_owned() };
        sql::<BigInt>(&format!("SELECT count(*) FROM {table}")).get_result(db)
    };
    names.into_iter().map(|name| rows(&name).map(|rows| (name, rows))).collect()
}
