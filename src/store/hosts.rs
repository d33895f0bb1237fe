//! The hosts: the control planes whose database sweep knows. Each is a folder of `migrations/hosts`: its SQL, and
//! `host.toml`, which says how it is recognised and which of its tables are read and written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};
use include_dir::{Dir, include_dir};
use serde::Deserialize;

use super::ids::IdType;
use crate::conclusion::{Failure, config};

/// The files of all migrations.
pub(super) static FILES: Dir = include_dir!("$CARGO_MANIFEST_DIR/migrations");

/// The control plane whose database it is: what its `host.toml` says.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// What operators call it, and the name of its folder.
    name: String,
    /// What its makers call it.
    title: String,
    /// The type of its ids on PostgreSQL.
    id: IdType,
    /// None: a database is its own when it is empty.
    recognition: Option<Recognition>,
    /// What is read and written in the schema `public`: each table, with those columns that older releases lack. None,
    /// when the tables are sweep's.
    #[serde(default)]
    tables: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recognition {
    /// A database that has all of these tables is this host's.
    tables: Vec<String>,
    /// The oldest release that has all that is read and written.
    oldest_release: String,
}

/// In the order of their folders.
static HOSTS: LazyLock<Vec<Host>> = LazyLock::new(|| {
    let read = |folder: &Dir| toml::from_str(FILES.get_file(folder.path().join("host.toml"))?.contents_utf8()?).ok();
    let folders = FILES.get_dir("hosts").into_iter().flat_map(Dir::dirs);
    folders.map(|folder| read(folder).expect("the suite reads each host.toml")).collect()
});
static ALL: LazyLock<Vec<&'static Host>> = LazyLock::new(|| HOSTS.iter().collect());

/// Every host that is built in.
pub fn all() -> &'static [&'static Host] {
    &ALL
}

/// The one whose tables are sweep's.
pub(super) fn native() -> &'static Host {
    ALL.iter().find(|host| host.is_native()).expect("one host has sweep's own tables")
}

impl Host {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The type of its ids, as PostgreSQL calls it.
    pub(super) fn id(&self) -> &'static str {
        self.id.into()
    }

    /// The host's own tables, in the schema `public`; none when they are sweep's.
    pub(super) fn tables(&self) -> Vec<&str> {
        self.tables.keys().map(String::as_str).collect()
    }

    /// Are the host's tables sweep's?
    pub(super) fn is_native(&self) -> bool {
        self.tables.is_empty()
    }

    fn is_recognised(&self, theirs: &BTreeSet<String>) -> bool {
        self.recognition.as_ref().is_some_and(|recognition| recognition.tables.iter().all(|mark| theirs.contains(mark)))
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
            tables => Err(config(format!("this is not {}'s database, it lacks {}", self.title, named(tables))).into()),
        }
    }

    /// As `table.column`.
    fn missing_columns(&self, db: &mut PgConnection) -> QueryResult<Vec<String>> {
        const ABSENT: &str = ") WITH ORDINALITY AS needed (tab, col, place) WHERE NOT EXISTS (
            SELECT FROM pg_attribute JOIN pg_class c ON c.oid = attrelid JOIN pg_namespace n ON n.oid = relnamespace
            WHERE nspname = 'public' AND relname = tab AND attname = col AND attnum > 0 AND NOT attisdropped)
            ORDER BY place";
        let needed = self.tables.iter().flat_map(|(table, columns)| columns.iter().map(move |column| (table, column)));
        let (tables, columns): (Vec<&String>, Vec<&String>) = needed.unzip();
        sql::<Text>("SELECT tab || '.' || col FROM unnest(")
            .bind::<Array<Text>, _>(tables)
            .sql(", ")
            .bind::<Array<Text>, _>(columns)
            .sql(ABSENT)
            .load(db)
    }

    fn is_too_old(&self, lacking: &str) -> Failure {
        let oldest = self.recognition.as_ref().map_or("", |recognition| recognition.oldest_release.as_str());
        let title = &self.title;
        config(format!(
            "this {title} is older than {oldest}, the oldest release that sweep works with (it lacks {lacking}): \
             upgrade {title} first"
        ))
    }
}

/// The host of a PostgreSQL database where sweep has never been. Refuses one that it does not know, unless the operator
/// names one that fits.
pub(super) fn detect(db: &mut PgConnection, wanted: Option<&'static Host>) -> Result<&'static Host> {
    const THEIRS: &str = "SELECT CASE nspname WHEN 'public' THEN relname::text ELSE nspname || '.' || relname END FROM \
        pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'sweep') \
        AND nspname NOT LIKE 'pg\\_%'";
    let theirs: BTreeSet<String> =
        sql::<Text>(THEIRS).load(db).context("looking for the host's tables")?.into_iter().collect();
    let host = match wanted {
        Some(wanted) => wanted,
        None => recognise(all(), &theirs)?,
    };
    host.refuse_unfit(db, &theirs)?;
    Ok(host)
}

/// Whose tables these are; of none, sweep's own.
fn recognise<'a>(hosts: &[&'a Host], theirs: &BTreeSet<String>) -> Result<&'a Host, Failure> {
    let recognised: Vec<&Host> = hosts.iter().copied().filter(|host| host.is_recognised(theirs)).collect();
    match recognised.as_slice() {
        [host] => Ok(host),
        [] => match hosts.iter().find(|host| theirs.is_empty() && host.is_native()) {
            Some(native) => Ok(native),
            None => Err(unknown(hosts, theirs)),
        },
        several => {
            let names: Vec<&str> = several.iter().map(|host| host.name()).collect();
            let names = names.join(" and of ");
            Err(config(format!("this database has the tables of {names}: say which of them sweep is for, with --host")))
        }
    }
}

fn unknown(hosts: &[&Host], theirs: &BTreeSet<String>) -> Failure {
    let lacking = hosts.iter().filter_map(|host| {
        let marks = host.recognition.as_ref()?.tables.iter().map(String::as_str);
        let missing: Vec<&str> = marks.filter(|&mark| !theirs.contains(mark)).collect();
        Some(format!("{}'s {}", host.title, missing.join(", ")))
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
    fn each_host_has_a_folder_of_its_name_and_one_alone_has_no_tables_of_others() {
        for host in all() {
            assert!(FILES.get_dir(format!("hosts/{}", host.name)).is_some(), "{host:?}");
            assert_eq!(host.is_native(), host.recognition.is_none(), "{host:?}");
        }
        assert_eq!(all().iter().filter(|host| host.is_native()).count(), 1);
    }

    #[test]
    fn a_host_is_recognised_by_tables_that_it_reads() {
        for host in all() {
            let marks = host.recognition.iter().flat_map(|recognition| &recognition.tables);
            assert_eq!(marks.filter(|&mark| !host.tables.contains_key(mark)).count(), 0, "{host:?}");
        }
    }

    #[test]
    fn a_database_with_the_tables_of_two_hosts_is_neither_ones() {
        let host = |name: &str| Host {
            name: name.to_owned(),
            title: name.to_owned(),
            id: IdType::Text,
            recognition: Some(Recognition { tables: vec![name.to_owned()], oldest_release: "1".to_owned() }),
            tables: BTreeMap::from([(name.to_owned(), Vec::new())]),
        };
        let (jobs, tasks) = (host("jobs"), host("tasks"));
        let hosts = [&jobs, &tasks];
        let tables = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(recognise(&hosts, &tables(&["tasks", "others"])).expect("one"), &tasks);
        let refusal = recognise(&hosts, &tables(&["jobs", "tasks"])).expect_err("two").to_string();
        assert_eq!(
            refusal,
            "this database has the tables of jobs and of tasks: say which of them sweep is for, with --host"
        );
        let refusal = recognise(&hosts, &tables(&["others"])).expect_err("none").to_string();
        assert!(refusal.contains("it has 1 table, and lacks jobs's jobs; and tasks's tasks. "), "{refusal}");
    }

    #[test]
    fn a_word_of_a_host_that_nobody_knows_is_refused() {
        let error =
            toml::from_str::<Host>("name = 'a'\ntitle = 'A'\nid = 'text'\ncolour = 'red'").expect_err("a colour");
        assert!(error.message().starts_with("unknown field `colour`"), "{error}");
    }
}
