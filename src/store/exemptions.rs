//! Exemptions: the operators' word that a subject is in progress on purpose. Sweep's own table, whatever the host.

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::Db;
use super::schema::exemptions;
use super::types::Instant;
use super::written::rows_written;
use crate::rules::{Exemption, Id, Kind};

/// One row of `exemptions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Exempted {
    /// As stored.
    pub kind: String,
    pub id: Id,
    pub exemption: Exemption,
    /// When it was given, or given again.
    pub since: DateTime<Utc>,
}

/// What became of an exemption that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    New,
    /// In place of an earlier one.
    Again,
}

/// Exempts a subject. Fails with `UniqueViolation` when somebody else was first: then it can be given again.
pub fn give(db: &mut Db, kind: Kind, id: &Id, exemption: &Exemption, now: DateTime<Utc>) -> QueryResult<Given> {
    let values = (
        exemptions::reason.eq(&exemption.reason),
        exemptions::until.eq(exemption.until.map(Instant)),
        exemptions::created_at.eq(Instant(now)),
    );
    // `on_conflict` does not exist for two databases at once.
    if 0 < rows_written(db, |db| diesel::update(of(kind, id)).set(values).execute(db))? {
        return Ok(Given::Again);
    }
    let subject = (exemptions::kind.eq(kind.name()), exemptions::subject_id.eq(id));
    diesel::insert_into(exemptions::table).values((subject, values)).execute(db).map(|_| Given::New)
}

/// Ends an exemption. Was there one?
pub fn take_back(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<bool> {
    Ok(0 < rows_written(db, |db| diesel::delete(of(kind, id)).execute(db))?)
}

/// All of them, the oldest first: operators give them one by one.
pub fn all(db: &mut Db) -> QueryResult<Vec<Exempted>> {
    use exemptions::*;
    let rows = table.select(ExemptionRow::as_select()).order((created_at, kind, subject_id)).load(db)?;
    Ok(rows.into_iter().map(Exempted::from).collect())
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = exemptions)]
struct ExemptionRow {
    kind: String,
    subject_id: Id,
    reason: String,
    until: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
}

impl From<ExemptionRow> for Exempted {
    fn from(row: ExemptionRow) -> Exempted {
        let exemption = Exemption { reason: row.reason, until: row.until };
        Exempted { kind: row.kind, id: row.subject_id, exemption, since: row.created_at }
    }
}

#[diesel::dsl::auto_type(no_type_alias)]
fn of<'a>(kind: Kind, id: &'a Id) -> _ {
    let kind: &'static str = kind.name();
    exemptions::table.filter(exemptions::kind.eq(kind)).filter(exemptions::subject_id.eq(id))
}
