//! What is sent next, and what became of it.
//!
//! A message is claimed in one transaction, sent without any, and settled in another one. The claim says when it is due
//! again, so that whoever is killed in between has nothing to clean up: it is sent once more, with the same key.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::{count_star, exists, max, select};
use diesel::prelude::*;

use super::{Destination, Details, Event, one_at_a_time};
use crate::rules::Id;
use crate::store::Db;
use crate::store::db::schema::notifications;
use crate::store::db::types::{Instant, WrittenDocument};
use crate::store::db::written::rows_written;
use crate::text::redact_id;

/// What is not delivered within this time is given up: by then it is no news any more.
pub const GIVEN_UP_AFTER: TimeDelta = TimeDelta::days(1);

/// More of a group that are due together are sent in one message.
pub const ALONE_MAX: i64 = 5;

/// A digest names so many, the oldest.
pub const NAMED_MAX: i64 = 10;

/// What may be sent together.
const GROUPS: [&[Event]; 4] =
    [&[Event::Escalated, Event::SessionStuck], &[Event::Quarantined], &[Event::Recovered], &[Event::Abandoned]];

/// The first pause is longer than a request may take: nobody else sends what is under way.
const FIRST_PAUSE: TimeDelta = TimeDelta::seconds(15);
const LONGEST_PAUSE: TimeDelta = TimeDelta::hours(1);

/// What is sent at once: one notification, or the digest of many.
#[derive(Clone, Debug)]
pub struct Message {
    /// The id that it has at each attempt.
    pub id: Id,
    /// When it was claimed, by the database's clock.
    pub at: DateTime<Utc>,
    pub attempt: i32,
    /// How many of each event, in the order of the enum.
    pub counts: Vec<(Event, i64)>,
    /// The oldest.
    pub named: Vec<Notification>,
    newest_at: DateTime<Utc>,
}

impl Message {
    pub fn total(&self) -> i64 {
        self.counts.iter().map(|(_, n)| n).sum()
    }
}

/// One row of the outbox.
#[derive(Clone, Debug)]
pub struct Notification {
    /// The key by which a receiver knows it again.
    pub id: Id,
    pub event: String,
    pub kind: String,
    pub subject_id: Option<Id>,
    pub sweep_id: Id,
    pub created_at: DateTime<Utc>,
    pub details: Details,
}

/// What is neither delivered nor given up; of one destination.
macro_rules! waiting {
    () => {{
        use $crate::store::db::schema::notifications::{self, dead_at, delivered_at};
        notifications::table.filter(delivered_at.is_null()).filter(dead_at.is_null())
    }};
    ($destination:expr) => {
        waiting!().filter(notifications::destination.eq($destination.name()))
    };
}
pub(in crate::store) use waiting;

/// Is anything neither delivered nor given up, of whatever destination?
pub fn is_any_waiting(db: &mut Db) -> QueryResult<bool> {
    select(exists(waiting!())).get_result(db)
}

/// The oldest message that is due: nobody else will send it before its next attempt is due.
pub fn claim(db: &mut Db, destination: Destination) -> QueryResult<Option<Message>> {
    one_at_a_time(db)?;
    let now = db.now()?;
    group(db, destination, now)?;
    let due = waiting!(destination)
        .filter(notifications::message_id.is_not_null())
        .filter(is_due(now))
        .order((notifications::created_at, notifications::id))
        .select((notifications::message_id.assume_not_null(), notifications::attempts))
        .first::<(Id, i32)>(db)
        .optional()?;
    let Some((id, attempts)) = due else { return Ok(None) };
    let attempt = attempts.saturating_add(1);
    diesel::update(waiting!(destination).filter(notifications::message_id.eq(&id)))
        .set((notifications::attempts.eq(attempt), notifications::due_at.eq(Instant(now + pause_after(attempt)))))
        .execute(db)?;
    read(db, destination, id, attempt, now).map(Some)
}

/// What was never tried is due at once, and nothing is due later than after the longest pause: another time was written
/// by a clock that was ahead.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_due(now: DateTime<Utc>) -> _ {
    let (now, latest): (Instant, Instant) = (Instant(now), Instant(now + LONGEST_PAUSE));
    notifications::due_at.le(now).or(notifications::attempts.eq(0_i32)).or(notifications::due_at.gt(latest))
}

/// Decides, once for all attempts, what is sent together.
fn group(db: &mut Db, destination: Destination, now: DateTime<Utc>) -> QueryResult<()> {
    macro_rules! new {
        () => {
            waiting!(destination).filter(notifications::message_id.is_null()).filter(is_due(now))
        };
    }
    for events in GROUPS {
        let is_of_group = || notifications::event.eq_any(events.iter().map(|event| event.name()));
        if ALONE_MAX < new!().filter(is_of_group()).count().get_result(db)? {
            let together = notifications::message_id.eq(Some(Id::generate()));
            diesel::update(new!().filter(is_of_group())).set(together).execute(db)?;
        }
    }
    diesel::update(new!()).set(notifications::message_id.eq(notifications::id.nullable())).execute(db).map(drop)
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = notifications)]
struct NotificationRow {
    id: Id,
    event: String,
    kind: String,
    subject_id: Option<Id>,
    sweep_id: Id,
    created_at: DateTime<Utc>,
    details: WrittenDocument,
}

impl From<NotificationRow> for Notification {
    fn from(row: NotificationRow) -> Notification {
        Notification {
            id: row.id,
            event: row.event,
            kind: row.kind,
            subject_id: row.subject_id.as_ref().map(redact_id),
            sweep_id: redact_id(&row.sweep_id),
            created_at: row.created_at,
            // Once more: others may have written to the outbox as well.
            details: row.details.read::<Details>().unwrap_or_default().redacted(),
        }
    }
}

fn read(db: &mut Db, destination: Destination, id: Id, attempt: i32, at: DateTime<Utc>) -> QueryResult<Message> {
    use notifications::columns;
    macro_rules! its {
        () => {
            waiting!(destination).filter(columns::message_id.eq(&id))
        };
    }
    let mut counts: Vec<(Event, i64)> = its!()
        .group_by(columns::event)
        .select((columns::event, count_star()))
        .load::<(String, i64)>(db)?
        .into_iter()
        .filter_map(|(event, n)| Some((Event::parse(&event)?, n)))
        .collect();
    counts.sort();
    let newest_at = its!().order(columns::created_at.desc()).select(columns::created_at).first(db)?;
    let named = its!()
        .order((columns::created_at, columns::id))
        .limit(NAMED_MAX)
        .select(NotificationRow::as_select())
        .load(db)?
        .into_iter()
        .map(Notification::from)
        .collect();
    Ok(Message { id, at, attempt, counts, named, newest_at })
}

/// Marks the message as delivered.
pub fn delivered(db: &mut Db, destination: Destination, message: &Message) -> QueryResult<()> {
    let (now, no_error): (_, Option<&str>) = (Instant(db.now()?), None);
    diesel::update(waiting!(destination).filter(notifications::message_id.eq(&message.id)))
        .set((notifications::delivered_at.eq(Some(now)), notifications::last_error.eq(no_error)))
        .execute(db)
        .map(drop)
}

/// Records a failed attempt; true if the message is given up now.
pub fn failed(db: &mut Db, destination: Destination, message: &Message, why: &str) -> QueryResult<bool> {
    let now = db.now()?;
    let is_dead = message.newest_at + GIVEN_UP_AFTER <= now;
    diesel::update(waiting!(destination).filter(notifications::message_id.eq(&message.id)))
        .set((notifications::last_error.eq(Some(why)), notifications::dead_at.eq(is_dead.then_some(Instant(now)))))
        .execute(db)?;
    Ok(is_dead)
}

/// Messages that are given up together: memory does not grow with them.
const GIVEN_UP_MAX: i64 = 1000;

/// Gives up what else is as old, at a destination that took nothing for a day: with one attempt in each sweep that
/// would take weeks. How many.
pub fn give_up_all(db: &mut Db, destination: Destination, why: &str) -> QueryResult<usize> {
    one_at_a_time(db)?;
    let now = db.now()?;
    // Whole messages: what was sent together stays together.
    let old: Vec<Option<Id>> = waiting!(destination)
        .group_by(notifications::message_id)
        .having(max(notifications::created_at).le(Instant(now - GIVEN_UP_AFTER)))
        .select(notifications::message_id)
        .order(max(notifications::created_at))
        .limit(GIVEN_UP_MAX)
        .load(db)?;
    let given_up = diesel::update(waiting!(destination).filter(notifications::message_id.eq_any(old)))
        .set((notifications::dead_at.eq(Some(Instant(now))), notifications::last_error.eq(Some(why))));
    rows_written(db, |db| given_up.execute(db))
}

/// Gives up what is too old and has no destination any more: how many.
pub fn give_up(db: &mut Db, destinations: &[Destination]) -> QueryResult<usize> {
    one_at_a_time(db)?;
    let (now, mut given_up) = (db.now()?, 0);
    for destination in Destination::ALL.iter().copied().filter(|destination| !destinations.contains(destination)) {
        let old = waiting!(destination).filter(notifications::created_at.le(Instant(now - GIVEN_UP_AFTER)));
        let why = Some("its destination is not configured any more");
        let these =
            diesel::update(old).set((notifications::dead_at.eq(Some(Instant(now))), notifications::last_error.eq(why)));
        given_up += rows_written(db, |db| these.execute(db))?;
    }
    Ok(given_up)
}

/// The pause before the next attempt: 15 s, 30 s, … 1 h.
fn pause_after(attempt: i32) -> TimeDelta {
    let doubled = attempt.clamp(1, 20) - 1;
    (FIRST_PAUSE * 2_i32.pow(doubled.unsigned_abs())).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::{FIRST_PAUSE, pause_after};

    #[test]
    fn pauses_double_from_fifteen_seconds_to_an_hour() {
        let pauses: Vec<i64> = (1..=10).map(|attempt| pause_after(attempt).num_seconds()).collect();
        assert_eq!(pauses, [15, 30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
        assert_eq!((pause_after(0), pause_after(i32::MAX).num_hours()), (FIRST_PAUSE, 1));
    }
}
