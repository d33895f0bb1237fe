//! Whose database is it? By the tables that are there.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};

use super::{Host, built_in};
use crate::conclusion::{Failure, config};
use crate::store::Db;
use crate::store::hosts::catalog::{self, VERSIONS};

const LOOKING: &str = "looking for the host's tables";
/// What is expected of whoever names a table with its schema.
pub const IN_PUBLIC: &str = "expected tables of the schema public by their bare names, since sweep works with no other";

impl Host {
    fn is_recognised(&self, theirs: &BTreeSet<String>) -> bool {
        let recognition = self.manifest.recognition.as_ref();
        recognition.is_some_and(|recognition| recognition.tables.iter().all(|mark| theirs.contains(mark)))
    }

    /// Refuses a database that lacks a table or a column of this host's. A table that is missing has no owner to ask
    /// for.
    pub fn refuse_unfit(&self, db: &mut Db) -> Result<()> {
        let theirs = &tables(db).context(LOOKING)?;
        let missing: Vec<&str> = self.tables().into_iter().filter(|&table| !theirs.contains(table)).collect();
        match missing.as_slice() {
            [] => match self.missing_columns(db).context("looking at the columns of the host's tables")?.as_slice() {
                [] => Ok(()),
                columns => Err(self.is_too_old(&columns.join(", ")).into()),
            },
            tables if tables.iter().any(|table| table.contains('.')) => {
                let (title, lacking) = (self.title(), named(tables));
                Err(config(format!("this database lacks {lacking} of {title}: {IN_PUBLIC}")).into())
            }
            tables if self.is_recognised(theirs) => Err(self.is_too_old(&tables.join(", ")).into()),
            tables => {
                Err(config(format!("this is not {}'s database, it lacks {}", self.title(), named(tables))).into())
            }
        }
    }

    /// As `table.column`.
    fn missing_columns(&self, db: &mut Db) -> QueryResult<Vec<String>> {
        const ON_POSTGRES: &str = "NOT EXISTS (SELECT FROM pg_attribute JOIN pg_class c ON c.oid = attrelid \
            JOIN pg_namespace n ON n.oid = relnamespace \
            WHERE nspname = 'public' AND attnum > 0 AND NOT attisdropped AND relname = ";
        const ON_SQLITE: &str = "NOT EXISTS (SELECT 1 FROM pragma_table_info(";
        let tables = self.manifest.tables.iter();
        let mut missing = Vec::new();
        for (table, column) in tables.flat_map(|(table, columns)| columns.iter().map(move |column| (table, column))) {
            let is_missing = match &mut *db {
                Db::Postgres(db) => {
                    let of_table = sql::<Bool>(ON_POSTGRES).bind::<Text, _>(table).sql(" AND attname = ");
                    diesel::select(of_table.bind::<Text, _>(column).sql(")")).get_result(db)?
                }
                Db::Sqlite(db) => {
                    let of_table = sql::<Bool>(ON_SQLITE).bind::<Text, _>(table).sql(", 'main') WHERE name = ");
                    diesel::select(of_table.bind::<Text, _>(column).sql(")")).get_result(db)?
                }
            };
            if is_missing {
                missing.push(format!("{table}.{column}"));
            }
        }
        Ok(missing)
    }

    fn is_too_old(&self, lacking: &str) -> Failure {
        let oldest = self.manifest.recognition.as_ref().and_then(|recognition| recognition.oldest_release.as_deref());
        let oldest = oldest.map_or("that".to_owned(), |oldest| format!("{oldest}, the oldest release that"));
        let title = self.title();
        config(format!(
            "this {title} is older than {oldest} sweep works with (it lacks {lacking}): upgrade {title} first"
        ))
    }
}

/// The host of a database where sweep has never been. Refuses one that it does not know, unless the operator names one.
pub fn detect(db: &mut Db, wanted: Option<Arc<Host>>) -> Result<Arc<Host>> {
    let is_sqlite = matches!(db, Db::Sqlite(_));
    if let Some(host) = wanted.as_ref().filter(|host| !host.is_for(is_sqlite)) {
        let database = if is_sqlite { "SQLite" } else { "PostgreSQL" };
        return Err(config(format!("the host {} has no migrations for {database}", host.name())).into());
    }
    let theirs = tables(db).context(LOOKING)?;
    let known: Vec<Arc<Host>> = built_in().iter().filter(|host| host.is_for(is_sqlite)).cloned().collect();
    let recognised = match wanted {
        Some(wanted) => Ok(wanted),
        None => recognise(&known, &theirs),
    };
    match (recognised, &mut *db) {
        // There is no schema of sweep's own in a file.
        (recognised, Db::Sqlite(_)) if !theirs.is_empty() && recognised.as_ref().is_ok_and(|host| host.is_native()) => {
            Err(is_anothers(db, &theirs)?.into())
        }
        (Err(_), Db::Sqlite(_)) => Err(is_anothers(db, &theirs)?.into()),
        (recognised, _) => Ok(recognised?),
    }
}

fn is_anothers(db: &mut Db, theirs: &BTreeSet<String>) -> QueryResult<Failure> {
    let some: Vec<&str> = theirs.iter().take(3).map(String::as_str).collect();
    let (file, some) = (catalog::name(db)?, some.join(", "));
    Ok(config(format!("{file} is neither empty nor sweep's, nor of a host that sweep knows: it has {some}")))
}

/// A table of another schema than `public` is called by both names in quotes, as no host can name it: whose it is would
/// not be asked.
fn tables(db: &mut Db) -> QueryResult<BTreeSet<String>> {
    const ON_POSTGRES: &str = "SELECT CASE nspname WHEN 'public' THEN relname::text \
        ELSE format('\"%s\".\"%s\"', nspname, relname) END \
        FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'sweep') \
        AND nspname NOT LIKE 'pg\\_%'";
    let found: Vec<String> = match db {
        Db::Postgres(db) => sql::<Text>(ON_POSTGRES).load(db)?,
        Db::Sqlite(db) => {
            let on_sqlite = format!(
                "SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') AND name <> '{VERSIONS}' \
                 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
            );
            sql::<Text>(&on_sqlite).load(db)?
        }
    };
    Ok(found.into_iter().collect())
}

/// Whose tables these are; of none, sweep's own.
fn recognise(hosts: &[Arc<Host>], theirs: &BTreeSet<String>) -> Result<Arc<Host>, Failure> {
    let recognised: Vec<&Arc<Host>> = hosts.iter().filter(|host| host.is_recognised(theirs)).collect();
    match recognised.as_slice() {
        [host] => Ok(Arc::clone(host)),
        [] => match hosts.iter().find(|host| theirs.is_empty() && host.is_native()) {
            Some(native) => Ok(native.clone()),
            None => Err(unknown(hosts, theirs)),
        },
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
fn named(tables: &[&str]) -> String {
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
            Arc::new(Host::of([("host.toml".to_owned(), manifest)].into()).expect("a host"))
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
