//! The recognition of a host by the tables that are there.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use super::{Host, built_in};
use crate::conclusion::{Failure, config};
use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::hosts::catalog::{self, VERSIONS};

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
            let (title, lacking) = (host.title(), named(tables));
            Err(config(format!("this database lacks {lacking} of {title}: {IN_PUBLIC}")).into())
        }
        tables if is_recognised(host, theirs) => Err(too_old(host, &tables.join(", ")).into()),
        tables => Err(config(format!("this is not {}'s database, it lacks {}", host.title(), named(tables))).into()),
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
        return Err(config(format!("the host {} has no migrations for {}", host.name(), dialect.title())).into());
    }
    let theirs = tables(db).context(LOOKING)?;
    let known: Vec<Arc<Host>> = built_in().iter().filter(|host| host.is_for(dialect)).cloned().collect();
    let recognised = match wanted {
        Some(wanted) => Ok(wanted),
        None => recognise(&known, &theirs),
    };
    // There is no schema of sweep's own in a file.
    let is_anothers = recognised.as_ref().map_or(true, |host| host.is_native() && !theirs.is_empty());
    if dialect == Dialect::Sqlite && is_anothers {
        let some: Vec<&str> = theirs.iter().take(3).map(String::as_str).collect();
        let (file, some) = (catalog::name(db)?, some.join(", "));
        let refusal = format!("{file} is neither empty nor sweep's, nor of a host that sweep knows: it has {some}");
        return Err(config(refusal).into());
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
    let names = match db.dialect() {
        Dialect::Postgres => ON_POSTGRES,
        Dialect::Sqlite => &on_sqlite,
    };
    Ok(sql::<Text>(names).load::<String>(db)?.into_iter().collect())
}

/// Recognises the host whose tables these are; of none, sweep's own.
fn recognise(hosts: &[Arc<Host>], theirs: &BTreeSet<String>) -> Result<Arc<Host>, Failure> {
    let recognised: Vec<&Arc<Host>> = hosts.iter().filter(|host| is_recognised(host, theirs)).collect();
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
