//! Whose rights would a migration lend, and to whom (PostgreSQL)? Asked before anything of the schema is read or made.

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable, Text};

use crate::exit::config;
use crate::store::hosts::Host;

const STRANGERS: &str = include_str!("strangers.sql");
const SUPERUSER: &str = include_str!("superuser.sql");

/// May a superuser migrate who does not own the host's tables?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Superuser {
    #[default]
    Refused,
    /// The operator says so.
    Accepted,
}

/// Refuses a schema `sweep`, and whatever stands in it, that belongs to somebody whom this role has no reason to trust. Is there
/// one? In one statement: one that is there and ours nobody else can drop, but where there is none anybody may make his in the
/// next moment, and nothing of it must be read.
pub(super) fn refuse_strangers(db: &mut PgConnection) -> Result<bool> {
    let query = format!("exists (select from pg_namespace where nspname = 'sweep'), (\n{STRANGERS})");
    let found = diesel::select(sql::<(Bool, Nullable<Text>)>(&query)).get_result::<(bool, Option<String>)>(db);
    match found.context("looking at who owns the schema sweep")? {
        (_, Some(sentence)) => Err(config(sentence).into()),
        (is_there, None) => Ok(is_there),
    }
}

/// Refuses a superuser who would lend his rights to the host.
pub(super) fn refuse_superuser(db: &mut PgConnection, host: Host) -> Result<()> {
    match superuser(host) {
        Some(query) => {
            let refusal = sql::<Text>(&query).get_result::<String>(db).optional();
            refusal
                .context("looking at who owns the host's tables")?
                .map_or(Ok(()), |sentence| Err(config(sentence).into()))
        }
        None => Ok(()),
    }
}

/// Whoever migrates as a member of the schema's owner makes what is the owner's, as if that role had migrated itself.
pub(super) const BECOME_OWNER: &str =
    "set_config('role', pg_get_userbyid(nspowner), true) from pg_namespace where nspname = 'sweep'";

/// Both questions as a statement for psql, which fails with the same sentences.
pub(super) fn guard(host: Host, by: Superuser) -> String {
    let superuser = superuser(host).filter(|_| by == Superuser::Refused);
    let questions = [STRANGERS.to_owned()].into_iter().chain(superuser).map(|query| {
        format!("    for refusal in\n{query}    loop\n        raise exception '%', refusal;\n    end loop;\n")
    });
    format!(
        "do $$\ndeclare\n    refusal text;\nbegin\n{}    perform {BECOME_OWNER};\nend $$;\n",
        questions.collect::<String>()
    )
}

/// None: the tables are sweep's own.
fn superuser(host: Host) -> Option<String> {
    let tables = host.tables()?.join(",");
    Some(SUPERUSER.replace("(tables)", &format!("('{{{tables}}}')")))
}
