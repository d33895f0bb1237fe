//! What the migrations made, and whether it is still there.

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Array, Text};

use crate::conclusion::config;
use crate::store::Db;
use crate::store::catalog::{name, relations};
use crate::store::hosts::Host;

/// A relation that is gone must not look like a kind of work that there is none of.
pub(super) fn refuse_broken(db: &mut Db, host: Host) -> Result<()> {
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
