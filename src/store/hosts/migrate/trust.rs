//! What an operator wants of a migration, and the rights that it would lend, and to whom (PostgreSQL). Asked before
//! anything of the schema is read or made. And one migration at a time: several processes may start at once.

use std::sync::Arc;

use anyhow::{Context, Error, Result};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::conclusion::config;
use crate::store::Db;
use crate::store::hosts::folders::Host;

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

const STRANGERS: &str = concat!(include_str!("trusted.sql"), include_str!("strangers.sql"));
const LENDING: &str = concat!(include_str!("trusted.sql"), include_str!("lending.sql"));

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

/// Refuses a role that would lend its rights to the owners of the host's tables, and of all that these use.
pub(super) fn refuse_others(db: &mut PgConnection, host: &Host, wanted: &Wanted) -> Result<()> {
    let Some(query) = lending_query(host, wanted, Lending::Tables) else { return Ok(()) };
    refuse_by(db, &query)
}

/// Refuses a schema that was made, and is not committed yet, in which others have rights by the owner's default
/// privileges, or whose views use what is a stranger's.
pub(super) fn refuse_what_was_made(db: &mut PgConnection, host: &Host, wanted: &Wanted) -> Result<()> {
    const NOTHING_IS_LEFT: &str = "the schema was not made (rights on new objects come from `alter default \
        privileges`, or from a host's folder)";
    refuse_strangers(db).context(NOTHING_IS_LEFT)?;
    refuse_others(db, host, wanted)
}

/// Refuses to try anything on a copy of a database in which anything belongs to a stranger: whatever stands in a copy
/// is emptied, read as text, and called by its bare name, with this role's rights.
pub fn refuse_lending(db: &mut Db, host: &Host) -> Result<()> {
    const IS_SUPERUSER: &str = "SELECT format('this role, %I, is a superuser, and whatever stands in a copy of the \
        database would run with its rights: use a role that owns the host''s tables and may create databases', \
        rolname) FROM pg_roles WHERE rolname = session_user AND rolsuper";
    let Db::Postgres(db) = db else { return Ok(()) };
    refuse_by(db, IS_SUPERUSER)?;
    lending_query(host, &Wanted::default(), Lending::Copy).map_or(Ok(()), |query| refuse_by(db, &query))
}

fn refuse_by(db: &mut PgConnection, query: &str) -> Result<()> {
    let refusal = sql::<Text>(query).get_result::<String>(db).optional();
    let refusal = refusal.context("looking at whose the host's tables are")?;
    refusal.map_or(Ok(()), |sentence| Err(config(sentence).into()))
}

enum Lending {
    /// The host's tables, and all that these use.
    Tables,
    /// A copy of the whole database.
    Copy,
}

/// A role that migrates as a member of the schema's owner makes what is the owner's, as if that role had migrated
/// itself.
const BECOME_OWNER: &str =
    "set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = 'sweep'";

/// The questions of whose the schema and the host's tables are as a statement for psql, which fails with the sentences
/// of `refuse_strangers` and `refuse_others`.
pub(super) fn guard(host: &Host, wanted: &Wanted) -> String {
    let of_host = lending_query(host, wanted, Lending::Tables);
    let questions = [STRANGERS.to_owned()].into_iter().chain(of_host).map(|query| {
        format!("    for refusal in\n{query}    loop\n        raise exception '%', refusal;\n    end loop;\n")
    });
    format!(
        "do $$\ndeclare\n    refusal text;\nbegin\n{}    perform {BECOME_OWNER};\nend $$;\n",
        questions.collect::<String>()
    )
}

/// The query that finds whom this role would lend its rights to; none where the tables are sweep's own.
fn lending_query(host: &Host, wanted: &Wanted, what: Lending) -> Option<String> {
    if host.is_native() {
        return None;
    }
    // No name has a quote: hosts::manifest.
    let tables: Vec<String> = host.tables().iter().map(|table| format!("\"{table}\"")).collect();
    // The tables' names last: nothing in them is replaced.
    let query = LENDING
        .replace("HOST", host.name())
        .replace("AS_SUPERUSER", &(wanted.superuser == Superuser::Accepted).to_string())
        .replace("IS_NAMED", &wanted.host.is_some().to_string())
        .replace("IS_COPIED", &matches!(what, Lending::Copy).to_string())
        .replace("TABLES", &format!("{{{}}}", tables.join(",")));
    Some(query)
}

/// Makes the schema, if need be, and waits for whoever else changes it: a comment locks what it is about, and takes its
/// owner's rights, while any role could hold an advisory lock for ever.
pub(super) fn take_turn(db: &mut PgConnection) -> Result<()> {
    // A role that owns the schema, but may not create one, is refused even when there is nothing to create.
    let create: bool = diesel::select(sql::<Bool>("to_regnamespace('sweep') IS NULL")).get_result(db)?;
    if create {
        db.batch_execute("CREATE SCHEMA IF NOT EXISTS sweep").map_err(|error| match is_duplicate(&error) {
            true => Error::from(error),
            false => config(format!("cannot create the schema sweep: {error}")).into(),
        })?;
    }
    // It may be somebody else's by now, whoever was faster.
    refuse_strangers(db)?;
    const COMMENT: &str = "COMMENT ON SCHEMA sweep IS 'Belongs to sweep, which finds stranded work and restores it'";
    Ok(db.batch_execute(&format!("SELECT {BECOME_OWNER}; {COMMENT}"))?)
}

pub(super) fn is_duplicate(error: &diesel::result::Error) -> bool {
    matches!(error, diesel::result::Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _))
}
