//! What the migrations made, and whether it is still there.

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};

use super::{FILES, folders, name};
use crate::exit::config;
use crate::store::Db;
use crate::store::hosts::Host;

/// The tables and views that a host's migrations make.
pub(in crate::store) fn relations(db: &Db, host: Host) -> Vec<String> {
    let made = |line: &str| {
        let made = line.strip_prefix("create table ").or_else(|| line.strip_prefix("create view "))?;
        made.split([' ', '(']).next().map(str::to_owned)
    };
    let text = |folder: &String| FILES.get_file(format!("{folder}/up.sql")).and_then(|file| file.contents_utf8());
    folders(db, host).iter().filter_map(text).flat_map(str::lines).filter_map(made).collect()
}

/// A relation that is gone must not look like a kind of work that there is none of.
pub(super) fn refuse_broken(db: &mut Db, host: Host) -> Result<()> {
    let gone = gone(db, &relations(db, host)).context("looking for what migrations made")?;
    if gone.is_empty() {
        return Ok(());
    }
    let is = if gone.len() == 1 { "is" } else { "are" };
    Err(config(format!(
        "the schema of the database {} is broken: {} {is} gone, which `sweep migrate` made. Restore it, as docs/operating.md says",
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
