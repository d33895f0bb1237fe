//! What the ledger says of one subject.

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::Db;
use super::schema::recoveries;
use crate::rules::{Id, Kind};

/// The latest rows are shown, and how many there are.
const LATEST_MAX: i64 = 20;

/// One row of `recoveries`.
#[derive(Clone, Debug, PartialEq, Queryable)]
pub struct Recovery {
    pub created_at: DateTime<Utc>,
    /// `continue`, `escalate`, `recover`, `hand_over`, `abandon`.
    pub action: String,
    pub attempt: i32,
    pub reason: String,
    /// This escalation set the subject blocked.
    pub blocked_subject: bool,
    /// Null: nothing has come of it yet.
    pub settled_at: Option<DateTime<Utc>>,
}

/// What sweep did about one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    pub total: i64,
    /// The latest, oldest first.
    pub latest: Vec<Recovery>,
}

pub fn of(db: &mut Db, subject: Kind, id: &Id) -> QueryResult<Past> {
    use recoveries::{action, attempt, blocked_subject, created_at, kind, reason, settled_at, subject_id, table};
    let rows = || table.filter(kind.eq(subject.name())).filter(subject_id.eq(id));
    let columns = (created_at, action, attempt, reason, blocked_subject, settled_at);
    let total = rows().count().get_result(db)?;
    let latest = rows().select(columns).order((created_at.desc(), recoveries::id.desc())).limit(LATEST_MAX);
    let mut latest = latest.load::<Recovery>(db)?;
    latest.reverse();
    Ok(Past { total, latest })
}
