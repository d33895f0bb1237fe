//! Whose rights would a migration lend, and to whom (PostgreSQL)? Asked before anything of the schema is read or made.

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};

use super::wanted::{Superuser, Wanted};
use crate::conclusion::config;
use crate::store::hosts::Host;

const STRANGERS: &str = include_str!("strangers.sql");
const TRIGGERS: &str = include_str!("triggers.sql");

/// Refuses a schema `sweep`, and whatever stands in it, that belongs to somebody whom this role has no reason to trust.
/// Is there one? In one statement: one that is there and ours nobody else can drop, but where there is none anybody may
/// make his in the next moment, and nothing of it must be read.
pub(super) fn refuse_strangers(db: &mut PgConnection) -> Result<bool> {
    let query = format!("exists (select from pg_namespace where nspname = 'sweep'), (\n{STRANGERS})");
    let found = diesel::select(sql::<(Bool, Nullable<Text>)>(&query)).get_result::<(bool, Option<String>)>(db);
    match found.context("looking at who owns the schema sweep")? {
        (_, Some(sentence)) => Err(config(sentence).into()),
        (is_there, None) => Ok(is_there),
    }
}

/// Refuses a role that would lend its rights to whoever owns the host's tables.
pub(super) fn refuse_others_triggers(db: &mut PgConnection, host: Host, wanted: Wanted) -> Result<()> {
    let Some(query) = others_triggers(host, wanted) else { return Ok(()) };
    let refusal = sql::<Text>(&query).get_result::<String>(db).optional();
    match refusal.context("looking at who owns the host's tables")? {
        Some(sentence) => Err(config(sentence).into()),
        None => Ok(()),
    }
}

/// Whoever migrates as a member of the schema's owner makes what is the owner's, as if that role had migrated itself.
pub(super) const BECOME_OWNER: &str =
    "set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = 'sweep'";

/// Both questions as a statement for psql, which fails with the same sentences.
pub(super) fn guard(host: Host, wanted: Wanted) -> String {
    let questions = [STRANGERS.to_owned()].into_iter().chain(others_triggers(host, wanted)).map(|query| {
        format!("    for refusal in\n{query}    loop\n        raise exception '%', refusal;\n    end loop;\n")
    });
    format!(
        "do $$\ndeclare\n    refusal text;\nbegin\n{}    perform {BECOME_OWNER};\nend $$;\n",
        questions.collect::<String>()
    )
}

/// None: the tables are sweep's own.
fn others_triggers(host: Host, wanted: Wanted) -> Option<String> {
    let tables = host.tables()?.join(",");
    let query = TRIGGERS
        .replace("TABLES", &format!("{{{tables}}}"))
        .replace("HOST", host.name())
        .replace("AS_SUPERUSER", &(wanted.superuser == Superuser::Accepted).to_string())
        .replace("IS_NAMED", &wanted.host.is_some().to_string());
    Some(query)
}
