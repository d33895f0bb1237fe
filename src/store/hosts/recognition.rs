//! Whose database is it? By the tables that are there.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};

use super::{Host, built_in};
use crate::conclusion::{Failure, config};

impl Host {
    fn is_recognised(&self, theirs: &BTreeSet<String>) -> bool {
        let recognition = self.manifest.recognition.as_ref();
        recognition.is_some_and(|recognition| recognition.tables.iter().all(|mark| theirs.contains(mark)))
    }

    /// Refuses a database that lacks a table or a column of this host's.
    fn refuse_unfit(&self, db: &mut PgConnection, theirs: &BTreeSet<String>) -> Result<()> {
        let missing: Vec<&str> = self.tables().into_iter().filter(|&table| !theirs.contains(table)).collect();
        match missing.as_slice() {
            [] => match self.missing_columns(db).context("looking at the columns of the host's tables")?.as_slice() {
                [] => Ok(()),
                columns => Err(self.is_too_old(&columns.join(", ")).into()),
            },
            tables if self.is_recognised(theirs) => Err(self.is_too_old(&tables.join(", ")).into()),
            tables => {
                Err(config(format!("this is not {}'s database, it lacks {}", self.title(), named(tables))).into())
            }
        }
    }

    /// As `table.column`.
    fn missing_columns(&self, db: &mut PgConnection) -> QueryResult<Vec<String>> {
        const ABSENT: &str = ") WITH ORDINALITY AS needed (tab, col, place) WHERE NOT EXISTS (
            SELECT FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
            WHERE nspname = 'public' AND relname = tab AND attname = col AND attnum > 0 AND NOT attisdropped)
            ORDER BY place";
        let tables = self.manifest.tables.iter();
        let needed = tables.flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
        let (tables, columns): (Vec<&String>, Vec<&String>) = needed.unzip();
        sql::<Text>("SELECT tab || '.' || col FROM unnest(")
            .bind::<Array<Text>, _>(tables)
            .sql(", ")
            .bind::<Array<Text>, _>(columns)
            .sql(ABSENT)
            .load(db)
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

/// The host of a PostgreSQL database where sweep has never been. Refuses one that it does not know, unless the operator
/// names one that fits.
pub fn detect(db: &mut PgConnection, wanted: Option<Arc<Host>>) -> Result<Arc<Host>> {
    const THEIRS: &str = "SELECT CASE nspname WHEN 'public' THEN relname::text ELSE nspname || '.' || relname END FROM \
        pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'sweep') \
        AND nspname NOT LIKE 'pg\\_%'";
    let theirs: BTreeSet<String> =
        sql::<Text>(THEIRS).load(db).context("looking for the host's tables")?.into_iter().collect();
    let host = match wanted {
        Some(wanted) => wanted,
        None => recognise(built_in(), &theirs)?,
    };
    host.refuse_unfit(db, &theirs)?;
    Ok(host)
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
