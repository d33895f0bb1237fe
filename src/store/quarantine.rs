//! Quarantine: what failed in sweep after sweep is examined no more, until a person releases it.
//!
//! Sweeps record failures; here they are read and released. A row is never deleted: the sweeper's role needs no such right.

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::Db;
use super::schema::failures;
use super::types::Instant;
use crate::rules::{Id, Kind};

/// One row of `failures`.
#[derive(Clone, Debug, PartialEq, Queryable)]
pub struct Failure {
    /// As stored.
    pub kind: String,
    pub id: Id,
    /// In how many sweeps running; 0: no longer.
    pub sweeps: i32,
    /// Of the last failure.
    pub reason: String,
    pub last_at: DateTime<Utc>,
    /// Null: it is still examined.
    pub quarantined_at: Option<DateTime<Utc>>,
}

/// All that is in quarantine, the longest first.
pub fn all(db: &mut Db) -> QueryResult<Vec<Failure>> {
    use failures::*;
    let columns = (kind, subject_id, sweeps, reason, last_at, quarantined_at);
    let rows = table.select(columns).filter(quarantined_at.is_not_null());
    rows.order((quarantined_at, kind, subject_id)).load(db)
}

/// What a subject's last sweeps failed of, if they did.
pub fn of(db: &mut Db, subject: Kind, id: &Id) -> QueryResult<Option<Failure>> {
    use failures::*;
    let columns = (kind, subject_id, sweeps, reason, last_at, quarantined_at);
    let row = table.select(columns).filter(kind.eq(subject.name())).filter(subject_id.eq(id)).first(db);
    Ok(row.optional()?.filter(|failure: &Failure| 0 < failure.sweeps || failure.quarantined_at.is_some()))
}

/// Releases one subject. Was it in quarantine?
pub fn release(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<bool> {
    let one = failures::table.filter(failures::kind.eq(kind.name())).filter(failures::subject_id.eq(id));
    let held = one.filter(failures::quarantined_at.is_not_null());
    Ok(0 < diesel::update(held).set(released()).execute(db)?)
}

/// Releases everything: how many.
pub fn release_all(db: &mut Db) -> QueryResult<usize> {
    let held = failures::table.filter(failures::quarantined_at.is_not_null());
    diesel::update(held).set(released()).execute(db)
}

/// As if it had never failed.
#[diesel::dsl::auto_type(no_type_alias)]
fn released() -> _ {
    let at: Option<Instant> = None;
    (failures::sweeps.eq(0_i32), failures::quarantined_at.eq(at))
}
