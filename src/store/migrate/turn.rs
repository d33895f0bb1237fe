//! One migration at a time (PostgreSQL): several processes may start at once, and diesel_migrations takes no lock.

use anyhow::{Error, Result};
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::result::DatabaseErrorKind;
use diesel::sql_types::Bool;

use super::trust::{self, BECOME_OWNER};
use crate::conclusion::config;

/// Makes the schema, if need be, and waits for whoever else changes it: a comment locks what it is about, and takes its
/// owner's rights, while any role could hold an advisory lock for ever.
pub(super) fn take_turn(db: &mut PgConnection) -> Result<()> {
    // A role that owns the schema, but may not create one, is refused even when there is nothing to create.
    let create: bool = diesel::select(sql::<Bool>("to_regnamespace('sweep') IS NULL")).get_result(db)?;
    if create {
        db.batch_execute("CREATE SCHEMA IF NOT EXISTS sweep").map_err(|error| match is_duplicate_error(&error) {
            true => Error::from(error),
            false => config(format!("cannot create the schema sweep: {error}")).into(),
        })?;
    }
    // It may be somebody else's by now, whoever was faster.
    trust::refuse_strangers(db)?;
    const COMMENT: &str = "COMMENT ON SCHEMA sweep IS 'Belongs to sweep, which finds stranded work and restores it'";
    Ok(db.batch_execute(&format!("SELECT {BECOME_OWNER}; {COMMENT}"))?)
}

pub(super) fn is_duplicate(error: &Error) -> bool {
    error.downcast_ref().is_some_and(is_duplicate_error)
}

fn is_duplicate_error(error: &diesel::result::Error) -> bool {
    matches!(error, diesel::result::Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _))
}
