//! Taking one subject: locking it and what a recovery of it refers to, and then reading its facts.

use diesel::QueryResult;
use diesel::deserialize;

use crate::rules::{Id, Kind};
use crate::store::Db;
use crate::store::db::columns::{Columns, FromColumns, read_one, take_one};

/// What a transaction holds of one subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Lock {
    /// The whole database, as SQLite does.
    Everything,
    /// The subject, and these of the rows that it refers to.
    Rows { agent: Option<Id>, issue: Option<Id> },
    /// Somebody else has the subject, or it is gone.
    Nothing,
}

/// What a row says of the lock, where its subject was taken; then the facts.
impl<F: FromColumns> FromColumns for (Lock, F) {
    fn from_columns(columns: &mut impl Columns) -> deserialize::Result<(Lock, F)> {
        let held = columns.get("held")?;
        let (agent, issue) = (columns.get("held_agent_id")?, columns.get("held_issue_id")?);
        let lock = if held { Lock::Rows { agent, issue } } else { Lock::Nothing };
        Ok((lock, F::from_columns(columns)?))
    }
}

/// Takes a subject: what is held of it, and its facts, if it has any.
pub(in crate::store) fn take<F: FromColumns>(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<(Lock, Option<F>)> {
    match db {
        Db::Postgres(_) => {
            let taken = take_one(db, kind, id)?;
            Ok(taken.map_or((Lock::Nothing, None), |(lock, facts)| (lock, Some(facts))))
        }
        // SQLite's BEGIN IMMEDIATE holds the whole database already.
        Db::Sqlite(_) => Ok((Lock::Everything, read_one(db, kind, id)?)),
    }
}
