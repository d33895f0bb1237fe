//! Notifications that were not delivered.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use serde::{Deserialize, Serialize};

use super::limits::ROWS_MAX;
use crate::rules::Id;
use crate::store::Db;
use crate::store::db::after::{After, after};
use crate::store::db::schema::notifications;
use crate::store::db::types::{Instant, LossyText, RawInstant, WrittenDocument};
use crate::store::work::outbox::delivery::waiting;

/// What waits for longer than a sweep or two need is late.
pub const LATE: TimeDelta = TimeDelta::minutes(10);

/// What was given up longer ago is no news any more.
const DEAD_DAYS: i64 = 7;

/// The notifications that were not delivered; the fields are those of the JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Notifications {
    /// Not delivered yet.
    pub pending: i64,
    pub pending_since: Option<DateTime<Utc>>,
    pub pending_age_seconds: Option<i64>,
    /// Of the oldest.
    pub pending_error: Option<String>,
    /// Given up in the last week, the oldest first.
    pub dead: Vec<Undelivered>,
    pub dead_total: i64,
}

/// A notification that was given up.
#[derive(Clone, Debug, Serialize)]
pub struct Undelivered {
    pub id: Id,
    pub destination: String,
    pub event: String,
    pub kind: String,
    /// Null: it is about the kind as a whole.
    pub subject_id: Option<Id>,
    pub identifier: Option<String>,
    pub since: Option<DateTime<Utc>>,
    pub age_seconds: Option<i64>,
    pub attempts: i32,
    pub last_error: Option<String>,
    /// Else it is tried again.
    #[serde(skip)]
    pub is_given_up: bool,
    /// Its place among them.
    #[serde(skip)]
    pub place: RawInstant,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = notifications)]
struct NotificationRow {
    id: Id,
    destination: LossyText,
    event: LossyText,
    kind: LossyText,
    subject_id: Option<Id>,
    details: WrittenDocument,
    created_at: RawInstant,
    attempts: i32,
    last_error: Option<LossyText>,
    dead_at: Option<RawInstant>,
}

/// The part of a notification's details that a list shows.
#[derive(Deserialize)]
struct Named {
    identifier: Option<String>,
}

impl NotificationRow {
    fn into_undelivered(self, now: DateTime<Utc>) -> Undelivered {
        let (since, age_seconds) = self.created_at.with_age(now);
        Undelivered {
            id: self.id,
            destination: self.destination.into(),
            event: self.event.into(),
            kind: self.kind.into(),
            subject_id: self.subject_id,
            identifier: self.details.read::<Named>().and_then(|named| named.identifier),
            since,
            age_seconds,
            attempts: self.attempts,
            last_error: self.last_error.map(LossyText::into),
            is_given_up: self.dead_at.is_some(),
            place: self.created_at,
        }
    }
}

pub fn notifications(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Notifications> {
    use notifications::*;
    let pending = waiting!().count().get_result(db)?;
    let oldest: Option<(RawInstant, Option<LossyText>)> =
        waiting!().order((created_at, id)).select((created_at, last_error)).first(db).optional()?;
    let rows = given_up(now).order((created_at, id)).limit(ROWS_MAX).select(NotificationRow::as_select()).load(db)?;
    let (pending_since, pending_age_seconds) = oldest.as_ref().map_or((None, None), |(since, _)| since.with_age(now));
    Ok(Notifications {
        pending,
        pending_since,
        pending_age_seconds,
        pending_error: oldest.and_then(|(_, error)| error).map(|error| error.0),
        dead: rows.into_iter().map(|row| row.into_undelivered(now)).collect(),
        dead_total: given_up(now).count().get_result(db)?,
    })
}

/// Those given up in the last week.
#[diesel::dsl::auto_type(no_type_alias)]
fn given_up(now: DateTime<Utc>) -> _ {
    let since: Instant = Instant(now - TimeDelta::days(DEAD_DAYS));
    notifications::table.filter(notifications::dead_at.gt(since))
}

/// Those of which somebody has to see why they do not arrive: given up in the last week, or late although they were
/// tried. A part of a boxed query.
macro_rules! failing {
    ($now:expr) => {{
        let since = Instant($now - TimeDelta::days(DEAD_DAYS));
        let is_under_way = notifications::dead_at.is_null().and(notifications::delivered_at.is_null());
        let is_late = notifications::attempts.gt(0).and(notifications::created_at.lt(Instant($now - LATE)));
        notifications::table
            .filter(notifications::dead_at.gt(since).assume_not_null().or(is_under_way.and(is_late)))
            .into_boxed()
    }};
}

/// The same, the oldest first, from a place on; and how many there are.
pub fn failing_from(db: &mut Db, now: DateTime<Utc>, from: &After, limit: i64) -> QueryResult<(Vec<Undelivered>, i64)> {
    use notifications::{created_at, id};
    let later = after!(failing!(now), from, created_at, id);
    let rows = later.order((created_at, id)).limit(limit).select(NotificationRow::as_select()).load(db)?;
    Ok((rows.into_iter().map(|row| row.into_undelivered(now)).collect(), failing!(now).count().get_result(db)?))
}
