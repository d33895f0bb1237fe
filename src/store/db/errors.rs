//! What a database's error means for the sweep.

use std::error::Error as _;
use std::fmt::{Display, Formatter};

use diesel::result::{DatabaseErrorKind, Error, UnexpectedNullError};

use crate::conclusion::Failure;
use crate::rules::Kind;

/// Was somebody else first, or is at it? Then the next sweep looks again.
pub fn is_contention(error: &Error) -> bool {
    match error {
        // The write matched nothing: the subject is no longer as it was seen.
        Error::NotFound => true,
        // Another sweep was first, if it is the ledger's index; one of the host's own is an error.
        Error::DatabaseError(DatabaseErrorKind::UniqueViolation, info) => info.message().contains("recoveries"),
        Error::DatabaseError(DatabaseErrorKind::SerializationFailure, _) => true,
        Error::DatabaseError(_, info) => is_in_other_hands(info.message()),
        _ => false,
    }
}

fn is_in_other_hands(words: &str) -> bool {
    const PHRASES: [&str; 4] =
        ["could not obtain lock", "deadlock detected", "database is locked", "database table is locked"];
    PHRASES.iter().any(|phrase| words.contains(phrase))
}

/// Why a transaction did not do what was asked for: the database's error, or a refusal of the request.
#[derive(Debug)]
pub enum Refused {
    Query(Error),
    Request(Failure),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        Refused::Query(error)
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Refused {
        Refused::Request(failure)
    }
}

impl From<Refused> for anyhow::Error {
    fn from(refused: Refused) -> anyhow::Error {
        match refused {
            Refused::Query(error) => error.into(),
            Refused::Request(failure) => failure.into(),
        }
    }
}

/// Did the server refuse to commit? Anything else that comes in place of its answer says nothing of what became of it.
pub fn is_refusal(error: &Error) -> bool {
    use DatabaseErrorKind::{
        CheckViolation, ExclusionViolation, ForeignKeyViolation, NotNullViolation, ReadOnlyTransaction,
        RestrictViolation, SerializationFailure, UniqueViolation,
    };
    let Error::DatabaseError(kind, _) = error else { return false };
    matches!(kind, UniqueViolation | ForeignKeyViolation | NotNullViolation | CheckViolation)
        || matches!(kind, RestrictViolation | ExclusionViolation | SerializationFailure | ReadOnlyTransaction)
}

/// Is the database at fault, and no subject? The connection was lost or there is no room (SQLSTATE 53). Beside diesel's
/// kinds, recognised by how a server that speaks English, or SQLite, begins: what follows may be a row's own text.
pub fn is_outage(error: &Error) -> bool {
    const NO_ROOM: [&str; 9] = [
        "could not create file", "could not extend file", "could not write", "temporary file size exceeds",
        "out of memory", "out of shared memory", "database or disk is full", "disk I/O error", NAMES_ANOTHER_FILE,
    ];
    is_away(error) || begins_with(error, &NO_ROOM)
}

/// Was the connection lost (SQLSTATE 08), is there none (53300), or does the server start, end, or is a standby now
/// (57P, 25006)? Then no other statement does either.
fn is_away(error: &Error) -> bool {
    const AWAY: [&str; 7] = [
        "sorry, too many clients", "too many connections", "remaining connection slots", "terminating connection",
        "the database system is", "unable to open database file", "attempt to write a readonly database",
    ];
    use DatabaseErrorKind::{ClosedConnection, ReadOnlyTransaction, UnableToSendCommand};
    matches!(error, Error::DatabaseError(ClosedConnection | ReadOnlyTransaction | UnableToSendCommand, _))
        || begins_with(error, &AWAY)
}

/// Does an error that diesel has no kind for begin with any of these? The words of constraints and the like may be
/// anybody's.
fn begins_with(error: &Error, words: &[&str]) -> bool {
    matches!(error, Error::DatabaseError(DatabaseErrorKind::Unknown, info)
        if words.iter().any(|words| info.message().starts_with(words)))
}

/// Is one statement at fault, and may the next one do?
pub fn is_of_statement(error: &anyhow::Error) -> bool {
    causes(error).any(|error| !is_away(error))
}

/// Is the database at fault?
pub fn is_of_outage(error: &anyhow::Error) -> bool {
    causes(error).any(is_outage)
}

fn causes(error: &anyhow::Error) -> impl Iterator<Item = &Error> {
    error.chain().filter_map(|cause| cause.downcast_ref())
}

/// Has the role no right to something? It is no subject's fault, and lasts until somebody grants it. Recognised by the
/// words of a server that speaks English.
pub fn is_denial(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(DatabaseErrorKind::Unknown, info) if info.message().starts_with(DENIED))
}

/// A server begins so what it says of a denied function, relation or schema.
pub(in crate::store) const DENIED: &str = "permission denied for ";

/// What can be done about a statement that was ended by its time.
const TOOK_TOO_LONG: &str = "it took longer than SWEEP_STATEMENT_TIMEOUT allows. Trying again helps if the database \
    was only busy; raise it if that happens again";

/// SQLite says so when its guard refuses to open the file that a journal names.
const NAMES_ANOTHER_FILE: &str = "access permission denied";

/// What an operator can do about an error that lasts until then, by what its words hold.
const LASTING: [(&str, &str); 4] = [
    (
        "out of shared memory",
        "the server has no room for more locks: set max_locks_per_transaction higher, or use fewer partitions, or \
         fewer connections at the same time",
    ),
    (
        "permission denied to create database",
        "the role lacks a right: as a superuser, ALTER ROLE … CREATEDB, or use a role that has it",
    ),
    (
        "has no equivalent in encoding",
        "this database's encoding has no such character, so that nothing in it can be called so, or say so",
    ),
    ("string or blob too big", "sweep reads no text of more than 1 MiB from a SQLite file, and writes no row of more"),
];

/// What an operator can do about an error that may pass, by what its words hold.
const PASSING: [(&str, &str); 4] = [
    ("canceling statement due to statement timeout", TOOK_TOO_LONG),
    // SQLite's own word for it, and for the end of an answer that does not fit into memory.
    (
        "interrupted",
        "it took longer than SWEEP_STATEMENT_TIMEOUT allows, or answered with more than 64 MiB. Trying again \
         helps if the database was only busy; raise the time if that happens again",
    ),
    (
        NAMES_ANOTHER_FILE,
        "its journal, which a killed program left, names another file, and sweep deletes no other file: what was \
         half written is taken back, and that file is left as it is; try again",
    ),
    (
        "canceling statement due to lock timeout",
        "another transaction held the rows for longer than a sweep waits; trying again helps when it has ended",
    ),
];

/// What to do about an error with these words, and whether it lasts until then.
pub(in crate::store) fn advice(words: &str) -> Option<(&'static str, bool)> {
    let known = |advice: &[(&str, &'static str)]| advice.iter().find(|(when, _)| words.contains(when)).map(|it| it.1);
    known(&LASTING).map(|what| (what, true)).or(known(&PASSING).map(|what| (what, false)))
}

/// Do these words of an error say that what was asked may be done at another moment: what it needed was in other hands,
/// or it took too long?
pub fn may_pass(words: &str) -> bool {
    is_in_other_hands(words) || PASSING.iter().any(|(when, _)| words.starts_with(when))
}

/// True if a pooler gave the session of a prepared statement to somebody else, or somebody else's to us. Recognised by
/// diesel's own names of statements.
pub fn is_of_a_prepared_statement(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(_, info) if info.message().contains("__diesel_stmt_"))
}

/// Was a lock waited for in vain?
pub fn is_lock_timeout(error: &Error) -> bool {
    matches!(error, Error::DatabaseError(_, info) if info.message().contains("lock timeout"))
}

/// Could a row be found, but not read?
pub fn is_undecodable(error: &Error) -> bool {
    matches!(error, Error::DeserializationError(_))
}

/// A column whose value is not what docs/host-reference.md wants.
#[derive(Debug)]
pub struct UnreadableColumn {
    pub name: &'static str,
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}

impl Display for UnreadableColumn {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        write!(f, "the column {}: {}", self.name, self.cause)
    }
}

impl std::error::Error for UnreadableColumn {}

/// Why the facts of a subject of this kind could not be read: which column of which view is to blame.
pub fn of_row(kind: Kind, error: &Error) -> String {
    let column: Option<&UnreadableColumn> = match error {
        Error::DeserializationError(cause) => cause.downcast_ref(),
        _ => None,
    };
    let Some(UnreadableColumn { name, cause }) = column else { return error_chain(error) };
    match cause.is::<UnexpectedNullError>() {
        true => format!("the column {name} of the view {kind}_facts is null, and must not be"),
        false => format!("the column {name} of the view {kind}_facts: {cause}"),
    }
}

/// The error and what caused it: diesel names the column in one, and what is wrong with it in the other.
pub fn error_chain(error: &Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        if !words.contains(&error.to_string()) {
            words = format!("{words}: {error}");
        }
        cause = error.source();
    }
    advice(&words).map(|(what, _)| format!("{words}: {what}")).unwrap_or(words)
}
