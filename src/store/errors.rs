//! What a database's error means for the sweep.

use std::error::Error as _;

use diesel::result::{DatabaseErrorKind, Error};

/// Somebody else was first, or is at it: the next sweep looks again.
pub fn is_contention(error: &Error) -> bool {
    match error {
        // The write matched nothing: the subject is no longer as it was seen.
        Error::NotFound => true,
        // Another sweep was first, if it is the ledger's index; one of the host's own is an error.
        Error::DatabaseError(DatabaseErrorKind::UniqueViolation, info) => info.message().contains("recoveries"),
        Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => true,
        Error::DatabaseError(_, info) => {
            ["could not obtain lock", "deadlock detected", "database is locked", "database table is locked"]
                .iter()
                .any(|phrase| info.message().contains(phrase))
        }
        _ => false,
    }
}

/// The server refused to commit. Anything else that comes in place of its answer tells nothing of what became of it.
pub fn is_refusal(error: &Error) -> bool {
    let Error::DatabaseError(kind, _) = error else { return false };
    match kind {
        DatabaseErrorKind::UniqueViolation
        | DatabaseErrorKind::ForeignKeyViolation
        | DatabaseErrorKind::NotNullViolation
        | DatabaseErrorKind::CheckViolation
        | DatabaseErrorKind::RestrictViolation
        | DatabaseErrorKind::ExclusionViolation
        | DatabaseErrorKind::SerializationFailure
        | DatabaseErrorKind::ReadOnlyTransaction => true,
        // Diesel's list may grow.
        _ => false,
    }
}

/// A pooler gave a prepared statement's connection to somebody else. Told by diesel's own names of statements: the
/// words depend on the server's language.
pub(super) fn is_lost_statement(words: &str) -> bool {
    words.contains("__diesel_stmt_")
}

/// What to do about that.
pub(super) const LOST_STATEMENT: &str =
    "behind a transaction pooler that does not know prepared statements, set SWEEP_STATEMENT_CACHE=off";

/// A lock was waited for in vain.
pub fn is_lock_timeout(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(_, info) if info.message().contains("lock timeout"))
}

/// The row could be found, but not read.
pub fn is_undecodable(error: &Error) -> bool {
    matches!(error, Error::DeserializationError(_))
}

/// The error and what caused it: diesel names the column in one, and what is wrong with it in the other.
pub fn words(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        if !words.contains(&error.to_string()) {
            words = format!("{words}: {error}");
        }
        cause = error.source();
    }
    if is_lost_statement(&words) { format!("{words}: {LOST_STATEMENT}") } else { words }
}
