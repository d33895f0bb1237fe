//! Quarantine: what failed in `SWEEPS_MAX` sweeps running is not nominated any more, until a person releases it.
//!
//! A row is never deleted: the sweeper's role needs no such right.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use crate::rules::{AHEAD_MAX, Id, Kind};
use crate::store::Db;
use crate::store::db::schema::failures;
use crate::store::db::types::{Instant, IsOneOf};
use crate::store::db::written::rows_written;
use crate::store::work::exemptions::LISTED_MAX;
use crate::text::{cut, plain};

/// One row of `failures`.
#[derive(Clone, Debug, PartialEq, Queryable, Selectable)]
#[diesel(table_name = failures)]
pub struct FailingSubject {
    /// As stored.
    pub kind: String,
    #[diesel(column_name = subject_id)]
    pub id: Id,
    /// In how many sweeps running; 0: no longer.
    pub sweeps: i32,
    /// Why it failed last.
    pub reason: String,
    pub last_at: DateTime<Utc>,
    /// Null: it is still examined.
    pub quarantined_at: Option<DateTime<Utc>>,
}

/// Characters of a reason, besides a sign that it was cut: the table takes 1000.
const REASON_MAX: usize = 997;

/// Sweeps running in which a subject may fail.
pub const SWEEPS_MAX: i32 = 3;

/// Failing subjects that are remembered: a sweep records a thousand of each kind of failure.
const FAILING_MAX: i64 = 10_000;

/// The subjects of a kind that failed in the last sweep that examined them, and are still examined: those that failed
/// last.
pub fn failing(db: &mut Db, of: Kind) -> QueryResult<HashSet<Id>> {
    let failing = failures::table.filter(failures::kind.eq(of.name())).filter(failures::sweeps.gt(0));
    let examined = failing.filter(failures::quarantined_at.is_null()).order(failures::last_at.desc());
    Ok(examined.limit(FAILING_MAX).select(failures::subject_id).load(db)?.into_iter().collect())
}

/// Counts a failure once for each sweep; sweeps that overlap count as one. Returns whether it put the subject in
/// quarantine.
pub fn record(db: &mut Db, of: Kind, id: &Id, why: &str, sweep_began_at: DateTime<Utc>) -> QueryResult<bool> {
    let at = db.now()?;
    let (now, why) = (Instant(at), &plain(&cut(&plain(why), REASON_MAX)));
    let row = || failures::table.filter(failures::kind.eq(of.name())).filter(failures::subject_id.eq(id));
    // A sweep that overlaps counted it; what is dated ahead was counted by a clock that was wrong.
    let is_ahead = failures::last_at.gt(Instant(at + AHEAD_MAX));
    let is_counted_anew = failures::last_at.lt(Instant(sweep_began_at)).or(is_ahead);
    let counted = diesel::update(row().filter(is_counted_anew)).set((
        failures::sweeps.eq(failures::sweeps + 1),
        failures::reason.eq(why),
        failures::last_at.eq(now),
    ));
    if rows_written(db, |db| counted.execute(db))? == 0 && !diesel::select(diesel::dsl::exists(row())).get_result(db)? {
        let first = (
            failures::kind.eq(of.name()),
            failures::subject_id.eq(id),
            failures::sweeps.eq(1),
            failures::reason.eq(why),
            failures::last_at.eq(now),
        );
        diesel::insert_into(failures::table).values(first).execute(db)?;
    }
    let too_many = row().filter(failures::sweeps.ge(SWEEPS_MAX)).filter(failures::quarantined_at.is_null());
    let quarantined = diesel::update(too_many).set(failures::quarantined_at.eq(Some(now)));
    Ok(0 < rows_written(db, |db| quarantined.execute(db))?)
}

/// A subject that failed before did not fail this time. What an overlapping sweep put in quarantine stays there.
pub fn forget(db: &mut Db, of: Kind, id: &Id) -> QueryResult<()> {
    let row = failures::table.filter(failures::kind.eq(of.name())).filter(failures::subject_id.eq(id));
    let row = row.filter(failures::quarantined_at.is_null());
    diesel::update(row).set(failures::sweeps.eq(0)).execute(db).map(drop)
}

/// What has been in quarantine the longest, and how much more is there.
pub fn longest(db: &mut Db) -> QueryResult<(Vec<FailingSubject>, i64)> {
    use failures::*;
    let all = || table.filter(quarantined_at.is_not_null());
    let rows: Vec<FailingSubject> = all()
        .select(FailingSubject::as_select())
        .order((quarantined_at, kind, subject_id))
        .limit(LISTED_MAX)
        .load(db)?;
    let more = all().count().get_result::<i64>(db)? - rows.len() as i64;
    Ok((rows, more))
}

/// Which of these subjects are in quarantine.
pub fn held_among(db: &mut Db, of: Kind, ids: &[Id]) -> QueryResult<Vec<Id>> {
    let held = failures::table.filter(failures::kind.eq(of.name())).filter(failures::quarantined_at.is_not_null());
    held.filter(IsOneOf::new(failures::subject_id, ids)).select(failures::subject_id).load(db)
}

/// What a subject's last sweeps failed of, if they did.
pub fn of(db: &mut Db, subject: Kind, id: &Id) -> QueryResult<Option<FailingSubject>> {
    use failures::*;
    let row =
        table.select(FailingSubject::as_select()).filter(kind.eq(subject.name())).filter(subject_id.eq(id)).first(db);
    Ok(row.optional()?.filter(|failing: &FailingSubject| 0 < failing.sweeps || failing.quarantined_at.is_some()))
}

/// Releases everything: the kind and the id of each.
pub fn release_all(db: &mut Db) -> QueryResult<Vec<(String, Id)>> {
    let held = failures::table.filter(failures::quarantined_at.is_not_null());
    let held: Vec<(String, Id)> = held.select((failures::kind, failures::subject_id)).load(db)?;
    let mut all = Vec::new();
    for (kind, id) in held {
        if release(db, &kind, &id)? {
            all.push((kind, id));
        }
    }
    Ok(all)
}

/// Releases one subject of a kind as it is stored. Was it in quarantine?
pub fn release(db: &mut Db, kind: &str, id: &Id) -> QueryResult<bool> {
    let one = failures::table.filter(failures::kind.eq(kind)).filter(failures::subject_id.eq(id));
    let held = one.filter(failures::quarantined_at.is_not_null());
    let never: Option<Instant> = None;
    let released = (failures::sweeps.eq(0), failures::quarantined_at.eq(never));
    Ok(0 < rows_written(db, |db| diesel::update(held).set(released).execute(db))?)
}
