//! Exemptions: the operators' word that a subject is in progress on purpose. Sweep's own table, whatever the host.

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::result::{DatabaseErrorKind, Error};

use super::errors::Refused;
use super::find::find;
use super::open::Store;
use super::schema::exemptions;
use super::types::Instant;
use super::written::rows_written;
use super::{Abort, Access, Db, Label, Timeouts};
use crate::conclusion::usage;
use crate::rules::display::format_utc;
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

/// When an exemption ends, as it is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    In(TimeDelta),
    At(DateTime<Utc>),
}

/// An exemption that is asked for.
#[derive(Clone, Debug)]
pub struct Wanted<'a> {
    pub kind: Kind,
    /// What the subject is called, or its id.
    pub name: &'a str,
    pub reason: &'a str,
    /// None: until it is removed.
    pub until: Option<Until>,
    /// What the end is called where it was given, as in `--until`.
    pub until_is_called: &'a str,
}

/// What was done about it.
#[derive(Clone, Debug)]
pub struct Exempt {
    pub label: Label,
    pub row: Exempted,
    pub given: Given,
}

/// Exempts the one subject that is called so. Refuses a name that finds none or several, and an end that has passed.
pub fn exempt(store: &mut Store, timeouts: &Timeouts, wanted: &Wanted) -> Result<Exempt, Abort<Refused>> {
    store.refuse_unprovided(wanted.kind).map_err(|failure| Abort::RolledBack(failure.into()))?;
    let mut give = || store.db.in_transaction(Access::Write, timeouts, |db| give_named(db, wanted));
    match give() {
        // Another operator was first: now there is a row to replace.
        Err(Abort::RolledBack(Refused::Query(Error::DatabaseError(DatabaseErrorKind::UniqueViolation, _)))) => give(),
        given => given,
    }
}

fn give_named(db: &mut Db, wanted: &Wanted) -> Result<Exempt, Refused> {
    let Wanted { kind, name, reason, until, until_is_called } = *wanted;
    let now = db.now()?;
    let until = match until {
        None => None,
        Some(Until::In(duration)) => Some(now + duration),
        Some(Until::At(at)) if now < at => Some(at),
        Some(Until::At(at)) => {
            let (at, now) = (format_utc(at), format_utc(now));
            return Err(usage(format!("{until_is_called} {at} has passed: the database's clock says {now}")).into());
        }
    };
    let label = find(db, kind, name)?.one(kind, name)?;
    let exemption = Exemption { reason: reason.to_owned(), until };
    let given = give(db, kind, &label.id, &exemption, now)?;
    let row = Exempted { kind: kind.name().to_owned(), id: label.id.clone(), exemption, since: now };
    Ok(Exempt { label, row, given })
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
