//! The outbox: what people are to be notified of, written in the transaction of what it reports; so it is sent if and
//! only if it happened.
//!
//! One row for each destination. Where a destination is, only the configuration says: nobody who can write to the
//! database can have anything sent elsewhere.

pub mod delivery;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::connection::SimpleConnection;
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::rules::{Finding, Id, Kind};
use crate::store::Db;
use crate::store::db::schema::notifications;
use crate::store::db::types::{Bound, Document, Instant, WrittenDocument};
use crate::store::db::written::Writes;
use crate::text::{cut, plain, redact};

/// What people can be notified of.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Event {
    /// An issue or a plan step needs a person.
    Escalated,
    /// A session needs a person.
    SessionStuck,
    /// The guard left a kind as it was.
    GuardStopped,
    /// A subject is examined no more, since it failed again and again.
    Quarantined,
    /// A subject healed after sweep had done something about it.
    Recovered,
    /// The host blocked an issue itself, and notified nobody why.
    HostBlocked,
    /// An issue is to do, has an agent, and nothing will start it.
    Unstarted,
    /// Wakes wait for longer than `wake_stuck_after` and nobody takes them up; or it is over.
    WakesStuck,
    /// Work whose agent is gone, terminated or paused for long: nobody goes on with it.
    Abandoned,
}

impl Event {
    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn parse(name: &str) -> Option<Event> {
        name.parse().ok()
    }

    /// That a subject of this kind needs a person.
    pub fn escalation_of(kind: Kind) -> Event {
        match kind {
            Kind::Session => Event::SessionStuck,
            Kind::Issue | Kind::Step => Event::Escalated,
        }
    }
}

/// Where notifications are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, strum::IntoStaticStr, strum::VariantArray)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Destination {
    /// An incoming webhook of Slack's.
    Slack,
    /// Signed JSON.
    Webhook,
}

impl Destination {
    pub const ALL: &[Destination] = <Destination as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }
}

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
        self.destinations.iter().copied().filter(move |_| self.events.contains(&event))
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
        let Details { identifier, title, tenant, agent, finding, reason, attempts, url, resolved, none_is_taken } =
            self;
        Details {
            identifier: identifier.as_ref().map(short),
            title: title.as_ref().map(short),
            tenant: tenant.as_ref().map(short),
            agent: agent.as_ref().map(short),
            finding: *finding,
            reason: short(reason),
            attempts: *attempts,
            url: url.clone(),
            resolved: *resolved,
            none_is_taken: *none_is_taken,
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
