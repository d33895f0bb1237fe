//! Taking one subject: locking it and what a recovery of it refers to, and then reading its facts.

use crate::rules::Id;
use crate::store::db::columns::columns;

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

columns! {
    /// What a row of facts says of the lock, where the subject was taken.
    pub(in crate::store) struct LockRow {
        held -> Bool as bool,
        held_agent_id -> Nullable<Id> as Option<Id>,
        held_issue_id -> Nullable<Id> as Option<Id>,
    }
}

impl From<&LockRow> for Lock {
    fn from(LockRow { held, held_agent_id, held_issue_id }: &LockRow) -> Lock {
        match held {
            true => Lock::Rows { agent: held_agent_id.clone(), issue: held_issue_id.clone() },
            false => Lock::Nothing,
        }
    }
}

/// Takes a subject: what is held of it, and its row of facts, if it has one.
macro_rules! take {
    ($kind:expr, $row:ty, $db:expr, $id:expr) => {
        match $db {
            $crate::store::Db::Postgres(_) => {
                let row = $crate::store::db::columns::take::<$row>($db, $kind, $id)?;
                row.map_or((Lock::Nothing, None), |row| (Lock::from(&row.lock), Some(row.into())))
            }
            // SQLite's BEGIN IMMEDIATE holds the whole database already.
            $crate::store::Db::Sqlite(_) => (Lock::Everything, Self::read($db, $id)?),
        }
    };
}
pub(in crate::store) use take;
