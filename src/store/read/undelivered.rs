//! Notifications that were not delivered.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::Id;
use crate::store::Db;
use crate::store::db::lists::{After, after};
use crate::store::db::schema::notifications;
use crate::store::db::types::{Instant, LossyText, RawInstant, WrittenDocument};
use crate::store::read::request::PageRequest;
use crate::store::read::subject::Age;
use crate::store::work::outbox::waiting;

/// How long a notification may wait before it is late: a sweep or two.
pub const LATE: TimeDelta = TimeDelta::minutes(10);

/// For how many days a notification that was given up is news.
const DEAD_DAYS: i64 = 7;

/// The notifications that were not delivered.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct Notifications {
    /// How many are not delivered yet.
    pub pending: i64,
    /// Since when the oldest of them waits; null: none does.
    pub pending_since: Option<DateTime<Utc>>,
    /// For how long, in seconds; null: none does.
    pub pending_age_seconds: Option<i64>,
    /// Why its last attempt failed, in words; null: there was none, or none failed.
    pub pending_error: Option<String>,
    /// Given up in the last week, the oldest first.
    pub dead: Vec<Undelivered>,
    /// How many there are.
    pub dead_total: i64,
}

/// A notification that did not arrive.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Undelivered {
    /// The notification's id.
    pub id: Id,
    /// `slack` or `webhook`.
    pub destination: String,
    /// What happened, as in a webhook's message.
    pub event: String,
    /// What it is about.
    pub kind: String,
    /// Which one; null: the kind as a whole.
    pub subject_id: Option<Id>,
    /// What people call it; null: nothing.
    pub identifier: Option<String>,
    /// When it happened.
    #[serde(flatten)]
    pub age: Age,
    /// How often it was tried.
    #[schemars(range(min = 0))]
    pub attempts: i32,
    /// Why the last attempt failed, in words; null: not known.
    pub last_error: Option<String>,
    /// Whether it is tried no more.
    #[serde(skip)]
    pub is_given_up: bool,
    /// Its place among all notifications.
    #[serde(skip)]
    pub place: RawInstant,
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = notifications)]
struct UndeliveredRow {
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
struct NamedSubject {
    identifier: Option<String>,
}

impl UndeliveredRow {
    fn into_undelivered(self, now: DateTime<Utc>) -> Undelivered {
        Undelivered {
            id: self.id,
            destination: self.destination.into(),
            event: self.event.into(),
            kind: self.kind.into(),
            subject_id: self.subject_id,
            identifier: self.details.read::<NamedSubject>().and_then(|named| named.identifier),
            age: Age::at(Some(&self.created_at), now),
            attempts: self.attempts,
            last_error: self.last_error.map(LossyText::into),
            is_given_up: self.dead_at.is_some(),
            place: self.created_at,
        }
    }
}

/// What is not delivered yet, and what was given up.
pub fn read_notifications(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Notifications> {
    use notifications::*;
    let pending = waiting!().count().get_result(db)?;
    let oldest: Option<(RawInstant, Option<LossyText>)> =
        waiting!().order((created_at, id)).select((created_at, last_error)).first(db).optional()?;
    let rows = given_up(now)
        .order((created_at, id))
        .limit(PageRequest::LIMIT as i64)
        .select(UndeliveredRow::as_select())
        .load(db)?;
    let age = Age::at(oldest.as_ref().map(|(since, _)| since), now);
    Ok(Notifications {
        pending,
        pending_since: age.since,
        pending_age_seconds: age.seconds,
        pending_error: oldest.and_then(|(_, error)| error).map(|error| error.0),
        dead: rows.into_iter().map(|row| row.into_undelivered(now)).collect(),
        dead_total: given_up(now).count().get_result(db)?,
    })
}

/// The notifications that were given up in the last week.
#[diesel::dsl::auto_type(no_type_alias)]
fn given_up(now: DateTime<Utc>) -> _ {
    let since: Instant = Instant(now - TimeDelta::days(DEAD_DAYS));
    notifications::table.filter(notifications::dead_at.gt(since))
}

/// The notifications of which somebody has to see why they do not arrive: given up in the last week, or late although
/// they were tried. A boxed query.
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

/// The oldest notifications, from a place on, of which somebody has to see why they do not arrive; and how many there
/// are.
pub fn failing_from(db: &mut Db, now: DateTime<Utc>, from: &After, limit: i64) -> QueryResult<(Vec<Undelivered>, i64)> {
    use notifications::{created_at, id};
    let later = after!(failing!(now), from, created_at, id);
    let rows = later.order((created_at, id)).limit(limit).select(UndeliveredRow::as_select()).load(db)?;
    Ok((rows.into_iter().map(|row| row.into_undelivered(now)).collect(), failing!(now).count().get_result(db)?))
}
