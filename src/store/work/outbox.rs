//! The outbox: what people are to be notified of, written in the transaction of what it reports; so it is sent if and
//! only if it happened.
//!
//! A message is claimed in one transaction, sent without any, and settled in another one. The claim says when it is due
//! again, so that whoever is killed in between has nothing to clean up: it is sent once more, with the same key.
//!
//! One row for each destination. Where a destination is, only the configuration says: nobody who can write to the
//! database can have anything sent elsewhere.

mod event;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::connection::SimpleConnection;
use diesel::dsl::{count_star, exists, max, not, select};
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::rules::{Finding, Id};
use crate::store::Db;
use crate::store::db::schema::notifications;
use crate::store::db::types::{Bound, Document, Instant, WrittenDocument};
use crate::store::db::written::{Writes, rows_written};
use crate::text::{cut, plain, redact};
pub use event::{Destination, Event, UNHEARD_RUN};

/// What a sweep must know of notifications: of what to queue one, and for whom. By default there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Subscriptions {
    pub destinations: Vec<Destination>,
    pub events: Vec<Event>,
}

impl Subscriptions {
    pub fn wants(&self, event: Event) -> bool {
        self.destinations_of(event).next().is_some()
    }

    fn destinations_of(&self, event: Event) -> impl Iterator<Item = Destination> + '_ {
        self.destinations.iter().copied().filter(move |to| self.events.contains(&event) || to.always_wants(event))
    }
}

/// What happened, to be sent.
#[derive(Clone, Debug)]
pub struct Notice<'a> {
    pub event: Event,
    /// The kind of subject, or what else it is about.
    pub kind: &'static str,
    /// None: it is about the kind as a whole.
    pub subject_id: Option<&'a Id>,
    pub sweep_id: &'a Id,
    pub details: Details,
}

/// What is reported of it, as far as it is known; the fields are those of the JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Details {
    pub identifier: Option<String>,
    pub title: Option<String>,
    pub tenant: Option<String>,
    pub agent: Option<String>,
    pub finding: Option<Finding>,
    pub reason: String,
    pub attempts: Option<u32>,
    /// Its page in the host's own board.
    pub url: Option<String>,
    /// Whether something that lasts is over; none for what happens once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved: Option<bool>,
    /// Whether no wake at all is taken up, where wakes are stuck.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub none_is_taken: Option<bool>,
}

/// Characters of each text: what is kept and sent stays small, whatever agents wrote.
const TEXT_MAX: usize = 500;

/// Characters of the name of a part, as the table takes it in bytes.
const PART_MAX: usize = 200;

impl Details {
    /// As they may be shown to others, and kept.
    fn redacted(&self) -> Details {
        let short = |text: &String| plain(&cut(&redact(text), TEXT_MAX));
        Details {
            identifier: self.identifier.as_ref().map(short),
            title: self.title.as_ref().map(short),
            tenant: self.tenant.as_ref().map(short),
            agent: self.agent.as_ref().map(short),
            reason: short(&self.reason),
            ..self.clone()
        }
    }
}

/// Queues one notification for each destination that wants it.
pub fn queue(db: &mut Db, subscriptions: &Subscriptions, notice: &Notice) -> QueryResult<()> {
    let mut writes = Writes::default();
    write(&mut writes, subscriptions, notice);
    writes.execute(db)
}

/// Like `queue`, but adds the rows to `writes`.
pub fn write<'a>(writes: &mut Writes<'a>, subscriptions: &Subscriptions, notice: &'a Notice) {
    subscriptions.destinations_of(notice.event).for_each(|destination| insert(writes, destination, notice, ""));
}

/// The guard that stops sweep after sweep is reported once in this time.
const GUARD_NOTIFIED_EVERY: TimeDelta = TimeDelta::days(1);

/// Queues what the guard held back, where people were not notified of it within a day. `part`: the part of the kind;
/// empty: the whole.
pub fn queue_guard(db: &mut Db, subscriptions: &Subscriptions, notice: &Notice, part: &str) -> QueryResult<()> {
    let part = plain(&cut(part, PART_MAX));
    // The shards of one sweep come here at the same moment.
    one_at_a_time(db)?;
    let now = db.now()?;
    let mut writes = Writes::default();
    for destination in subscriptions.destinations_of(notice.event) {
        let reported = earlier(notice, &part, destination, now);
        let reported = reported.filter(notifications::created_at.gt(Instant(now - GUARD_NOTIFIED_EVERY)));
        if !diesel::select(diesel::dsl::exists(reported)).get_result::<bool>(db)? {
            insert(&mut writes, destination, notice, &part);
        }
    }
    writes.execute(db)
}

/// Queues what lasts: once when it begins, once when nothing works any more, and once when it is over, whatever sweeps
/// see in between. `of`: the tenant that it is limited to.
pub fn queue_outage(db: &mut Db, subscriptions: &Subscriptions, notice: &Notice, of: Option<&str>) -> QueryResult<()> {
    let part = plain(&cut(of.unwrap_or_default(), PART_MAX));
    let to_notify = |db: &mut Db| -> QueryResult<Vec<Destination>> {
        let of_each = subscriptions.destinations_of(notice.event);
        of_each.filter_map(|to| is_news(db, notice, &part, to).map(|news| news.then_some(to)).transpose()).collect()
    };
    // Most sweeps have no news, and lock nothing.
    if to_notify(db)?.is_empty() {
        return Ok(());
    }
    // The shards of one sweep come here at the same moment.
    one_at_a_time(db)?;
    let mut writes = Writes::default();
    to_notify(db)?.into_iter().for_each(|destination| insert(&mut writes, destination, notice, &part));
    writes.execute(db)
}

/// Is it something else than what people were notified of last?
fn is_news(db: &mut Db, notice: &Notice, part: &str, destination: Destination) -> QueryResult<bool> {
    use notifications::columns::{created_at, id};
    let now = db.now()?;
    let latest = earlier(notice, part, destination, now).order((created_at.desc(), id.desc()));
    let latest: Option<WrittenDocument> = latest.select(notifications::details).first(db).optional()?;
    let known = latest.and_then(|details| details.read::<Details>()).unwrap_or_default();
    let lasts = known.resolved == Some(false);
    let is_worse = notice.details.none_is_taken == Some(true) && known.none_is_taken != Some(true);
    Ok(lasts == (notice.details.resolved == Some(true)) || lasts && is_worse)
}

/// Where people have been notified of the same before. What a clock that was ahead has dated in the future does not
/// count.
#[diesel::dsl::auto_type(no_type_alias)]
fn earlier<'a>(notice: &Notice<'a>, part: &'a str, destination: Destination, now: DateTime<Utc>) -> _ {
    let (event, kind, destination): (&'static str, &'static str, &'static str) =
        (notice.event.name(), notice.kind, destination.name());
    let until: Instant = Instant(now);
    notifications::table
        .filter(notifications::event.eq(event))
        .filter(notifications::kind.eq(kind))
        .filter(notifications::part.eq(part))
        .filter(notifications::destination.eq(destination))
        .filter(notifications::created_at.le(until))
        .filter(notifications::dead_at.is_null())
}

fn insert<'a>(writes: &mut Writes<'a>, destination: Destination, notice: &'a Notice, part: &'a str) {
    let Notice { event, kind, subject_id, sweep_id, details } = notice;
    let row = diesel::insert_into(notifications::table).values((
        notifications::id.eq(Id::generate()),
        notifications::destination.eq(destination.name()),
        notifications::event.eq(event.name()),
        notifications::kind.eq(*kind),
        notifications::part.eq(part),
        notifications::subject_id.eq(Bound::optional(*subject_id)),
        notifications::sweep_id.eq(*sweep_id),
        notifications::details.eq(Document(json!(details.redacted()))),
    ));
    writes.insert("notifications", row);
}

/// Keeps others from deciding what is sent until the end of this transaction; what is queued for it is not held up.
/// Unlike an advisory lock, which every role of the database may hold for ever, this one takes rights on the table.
/// SQLite has one writer at a time anyway.
pub fn one_at_a_time(db: &mut Db) -> QueryResult<()> {
    match db {
        Db::Postgres(db) => db.batch_execute("LOCK TABLE notifications IN SHARE UPDATE EXCLUSIVE MODE"),
        Db::Sqlite(_) => Ok(()),
    }
}

/// What is not delivered within this time is given up: by then it is no news any more.
pub const GIVEN_UP_AFTER: TimeDelta = TimeDelta::days(1);

/// More of a group that are due together are sent in one message.
pub const ALONE_MAX: usize = 5;

/// Notifications that one transaction writes, and a digest counts, at most: a statement about 100,000 takes seconds.
const AT_ONCE_MAX: i64 = 1000;

/// A digest names so many, the oldest.
pub const NAMED_MAX: i64 = 10;

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
    /// A message of nothing, by which people see that it arrives.
    pub fn test(id: Id, at: DateTime<Utc>) -> Message {
        Message { id, at, attempt: 1, counts: Vec::new(), named: Vec::new(), newest_at: at }
    }

    pub fn total(&self) -> i64 {
        self.counts.iter().map(|(_, n)| n).sum()
    }
}

/// One row of the outbox.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = notifications)]
pub struct Notification {
    /// The key by which a receiver knows it again.
    pub id: Id,
    pub event: String,
    pub kind: String,
    /// The part of the kind, where it is about no subject.
    pub part: String,
    /// As it is: by it an incident is known. It is shown redacted.
    pub subject_id: Option<Id>,
    pub sweep_id: Id,
    pub created_at: DateTime<Utc>,
    #[diesel(deserialize_as = WrittenDocument)]
    pub details: Details,
}

impl From<WrittenDocument> for Details {
    fn from(written: WrittenDocument) -> Details {
        // Once more: others may have written to the outbox as well.
        written.read::<Details>().unwrap_or_default().redacted()
    }
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

/// The rows of an alias that are for the destination of a notification, and about its part of a kind.
macro_rules! of_same_part {
    ($alias:expr) => {
        $alias
            .filter($alias.field(notifications::destination).eq(notifications::destination))
            .filter($alias.field(notifications::kind).eq(notifications::kind))
            .filter($alias.field(notifications::part).eq(notifications::part))
    };
}

/// Is anything neither delivered nor given up, of whatever destination?
pub fn is_any_waiting(db: &mut Db) -> QueryResult<bool> {
    select(exists(waiting!())).get_result(db)
}

/// These destinations, and last those at which most attempts have failed: what hangs keeps nobody else waiting.
pub fn in_turn(db: &mut Db, mut destinations: Vec<Destination>) -> QueryResult<Vec<Destination>> {
    let tried = waiting!().group_by(notifications::destination);
    let tried = tried.select((notifications::destination, max(notifications::attempts)));
    let tried: Vec<(String, Option<i32>)> = tried.load(db)?;
    let attempts = |destination: &Destination| tried.iter().find(|(name, _)| *name == destination.name());
    destinations.sort_by_key(|destination| attempts(destination).and_then(|(_, attempts)| *attempts));
    Ok(destinations)
}

/// The oldest message that is due: nobody else will send it before its next attempt is due.
pub fn claim(db: &mut Db, destination: Destination) -> QueryResult<Option<Message>> {
    one_at_a_time(db)?;
    let now = db.now()?;
    group(db, destination, now)?;
    // A recovery that overtook its escalation would leave the incident open. A subject is looked up by an index, and so
    // is none: a condition with `or` would read all that waits for each message.
    let first = diesel::alias!(notifications as first);
    macro_rules! earlier {
        ($of_incident:expr) => {
            of_same_part!(first)
                .filter($of_incident)
                .filter(first.field(notifications::delivered_at).is_null())
                .filter(first.field(notifications::dead_at).is_null())
                .filter(first.field(notifications::created_at).lt(notifications::created_at))
        };
    }
    let of_subject = exists(earlier!(first.field(notifications::subject_id).eq(notifications::subject_id)));
    let of_none = exists(earlier!(first.field(notifications::subject_id).is_null()));
    let is_first = not(of_subject).and(not(notifications::subject_id.is_null().and(of_none)));
    let is_its_turn = notifications::destination.ne(Destination::PagerDuty.name()).or(is_first);
    let due = waiting!(destination)
        .filter(notifications::message_id.is_not_null())
        .filter(is_due(now))
        .filter(is_its_turn)
        .order((notifications::event.eq(Event::Recovered.name()), notifications::created_at, notifications::id))
        .select((notifications::message_id.assume_not_null(), notifications::attempts))
        .first::<(Id, i32)>(db)
        .optional()?;
    let Some((id, attempts)) = due else { return Ok(None) };
    let attempt = attempts.saturating_add(1);
    diesel::update(waiting!(destination).filter(notifications::message_id.eq(&id)))
        .set((notifications::attempts.eq(attempt), notifications::due_at.eq(Instant(now + pause_after(attempt)))))
        .execute(db)?;
    let its = || waiting!(destination).filter(notifications::message_id.eq(&id));
    let counts = its().group_by(notifications::event).select((notifications::event, count_star()));
    let counts: Vec<(String, i64)> = counts.load(db)?;
    let counts = counts.into_iter().filter_map(|(event, n)| Some((Event::parse(&event)?, n)));
    let mut counts: Vec<(Event, i64)> = counts.collect();
    counts.sort();
    let newest_at = its().order(notifications::created_at.desc()).select(notifications::created_at).first(db)?;
    let oldest = its().order((notifications::created_at, notifications::id)).limit(NAMED_MAX);
    let named: Vec<Notification> = oldest.select(Notification::as_select()).load(db)?;
    Ok(Some(Message { id, at: now, attempt, counts, named, newest_at }))
}

/// What was never tried is due at once, and nothing is due later than after the longest pause: another time was written
/// by a clock that was ahead.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_due(now: DateTime<Utc>) -> _ {
    let (now, latest): (Instant, Instant) = (Instant(now), Instant(now + LONGEST_PAUSE));
    notifications::due_at.le(now).or(notifications::attempts.eq(0_i32)).or(notifications::due_at.gt(latest))
}

/// Decides, once for all attempts, what is sent together, of the oldest that were never tried.
fn group(db: &mut Db, destination: Destination, now: DateTime<Utc>) -> QueryResult<()> {
    macro_rules! new {
        () => {
            waiting!(destination).filter(notifications::message_id.is_null())
        };
    }
    let oldest = new!().filter(is_due(now)).order((notifications::created_at, notifications::id)).limit(AT_ONCE_MAX);
    let oldest: Vec<(Id, String)> = oldest.select((notifications::id, notifications::event)).load(db)?;
    if !destination.takes_many() {
        let recovered = oldest.iter().filter(|(_, event)| event == Event::Recovered.name()).map(|(id, _)| id);
        settle_without_incident(db, destination, &recovered.collect::<Vec<_>>(), now)?;
    }
    for &first in Event::ALL {
        let is_of_group = |event: &str| Event::parse(event).and_then(Event::group) == Some(first);
        let group: Vec<&Id> = oldest.iter().filter(|(_, event)| is_of_group(event)).map(|(id, _)| id).collect();
        if ALONE_MAX < group.len() && destination.takes_many() {
            let together = notifications::message_id.eq(Some(Id::generate()));
            diesel::update(new!().filter(notifications::id.eq_any(group))).set(together).execute(db)?;
        }
    }
    let alone = new!().filter(notifications::id.eq_any(oldest.iter().map(|(id, _)| id)));
    diesel::update(alone).set(notifications::message_id.eq(notifications::id.nullable())).execute(db).map(drop)
}

/// Has those of these recoveries not sent that resolve nothing: of their subjects the destination has never been told.
fn settle_without_incident(db: &mut Db, to: Destination, recovered: &[&Id], now: DateTime<Utc>) -> QueryResult<()> {
    use notifications::{event, id, subject_id};
    let opened = diesel::alias!(notifications as opened);
    let incident = of_same_part!(opened)
        .filter(opened.field(subject_id).eq(subject_id))
        .filter(opened.field(event).ne(Event::Recovered.name()));
    let without = waiting!(to).filter(id.eq_any(recovered)).filter(not(exists(incident)));
    diesel::update(without).set(notifications::delivered_at.eq(Some(Instant(now)))).execute(db).map(drop)
}

/// The length of an error that is kept, in characters: a receiver may have chosen its words.
const ERROR_MAX: usize = 1000;

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
    let (is_dead, why) = (message.newest_at + GIVEN_UP_AFTER <= now, cut(why, ERROR_MAX));
    diesel::update(waiting!(destination).filter(notifications::message_id.eq(&message.id)))
        .set((notifications::last_error.eq(Some(why)), notifications::dead_at.eq(is_dead.then_some(Instant(now)))))
        .execute(db)?;
    Ok(is_dead)
}

/// Gives up what else is as old, at a destination that took nothing for a day: with one attempt in each sweep that
/// would take weeks. How many.
pub fn give_up_all(db: &mut Db, destination: Destination, why: &str) -> QueryResult<usize> {
    one_at_a_time(db)?;
    let now = db.now()?;
    // Whole messages: what was sent together stays together.
    let old: Vec<(Option<Id>, i64)> = waiting!(destination)
        .group_by(notifications::message_id)
        .having(max(notifications::created_at).le(Instant(now - GIVEN_UP_AFTER)))
        .select((notifications::message_id, count_star()))
        .order(max(notifications::created_at))
        .limit(AT_ONCE_MAX)
        .load(db)?;
    let mut rows = 0;
    let these = old.into_iter().map_while(|(message, of_message)| {
        rows += of_message;
        (rows == of_message || rows <= AT_ONCE_MAX).then_some(message)
    });
    let given_up = diesel::update(waiting!(destination).filter(notifications::message_id.eq_any(these)))
        .set((notifications::dead_at.eq(Some(Instant(now))), notifications::last_error.eq(Some(why))));
    rows_written(db, |db| given_up.execute(db))
}

/// Gives up what is too old and has no destination any more: how many.
pub fn give_up(db: &mut Db, destinations: &[Destination]) -> QueryResult<usize> {
    one_at_a_time(db)?;
    let (now, mut given_up) = (db.now()?, 0);
    for destination in Destination::ALL.iter().copied().filter(|destination| !destinations.contains(destination)) {
        let old = waiting!(destination).filter(notifications::created_at.le(Instant(now - GIVEN_UP_AFTER)));
        let old: Vec<Id> = old.order(notifications::due_at).limit(AT_ONCE_MAX).select(notifications::id).load(db)?;
        let why = Some("its destination is not configured any more");
        let these = diesel::update(waiting!(destination).filter(notifications::id.eq_any(old)))
            .set((notifications::dead_at.eq(Some(Instant(now))), notifications::last_error.eq(why)));
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
