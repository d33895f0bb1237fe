//! Subjects that failed, and in how many sweeps running. After `SWEEPS_MAX` of them a subject is in quarantine: it is not
//! nominated any more until an operator releases it.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::Db;
use super::schema::failures::dsl::{failures, kind, last_at, quarantined_at, reason, subject_id, sweeps};
use super::types::Instant;
use crate::rules::{Id, Kind};

/// Sweeps running in which a subject may fail.
pub const SWEEPS_MAX: i32 = 3;

/// Subjects of a kind that failed in the last sweep that examined them.
#[derive(Clone, Debug, Default)]
pub struct Failing {
    pub examined: HashSet<Id>,
    /// How many are in quarantine.
    pub quarantined: u64,
}

pub fn failing(db: &mut Db, of: Kind) -> QueryResult<Failing> {
    let rows = failures
        .filter(kind.eq(of.name()))
        .filter(sweeps.gt(0))
        .select((subject_id, quarantined_at.is_not_null()))
        .load::<(Id, bool)>(db)?;
    let mut failing = Failing::default();
    for (id, is_quarantined) in rows {
        if is_quarantined {
            failing.quarantined += 1;
        } else {
            failing.examined.insert(id);
        }
    }
    Ok(failing)
}

/// Counts a failure once for each sweep; sweeps that overlap count as one. Returns whether it put the subject in quarantine.
pub fn record(db: &mut Db, of: Kind, id: &Id, why: &str, sweep_began_at: DateTime<Utc>) -> QueryResult<bool> {
    let now = Instant(db.now()?);
    let row = || failures.filter(kind.eq(of.name())).filter(subject_id.eq(id));
    let counted = diesel::update(row().filter(last_at.lt(Instant(sweep_began_at))))
        .set((sweeps.eq(sweeps + 1), reason.eq(why), last_at.eq(now)))
        .execute(db)?;
    if counted == 0 && !diesel::select(diesel::dsl::exists(row())).get_result(db)? {
        let first = (kind.eq(of.name()), subject_id.eq(id), sweeps.eq(1), reason.eq(why), last_at.eq(now));
        diesel::insert_into(failures).values(first).execute(db)?;
    }
    let too_many = row().filter(sweeps.ge(SWEEPS_MAX)).filter(quarantined_at.is_null());
    Ok(0 < diesel::update(too_many).set(quarantined_at.eq(Some(now))).execute(db)?)
}

/// A subject that failed before did not fail this time.
pub fn forget(db: &mut Db, of: Kind, id: &Id) -> QueryResult<()> {
    let row = failures.filter(kind.eq(of.name())).filter(subject_id.eq(id));
    diesel::update(row).set(sweeps.eq(0)).execute(db).map(drop)
}
