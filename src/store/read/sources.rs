//! What needs a person besides work of which people were notified: what the guard or the host holds, wakes that are
//! stuck, rows in quarantine, and notifications that did not arrive.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::exists;
use diesel::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::rules::board::Need;
use crate::rules::{Id, Kind, Reason};
use crate::store::db::lists::{ListPlace, after, owned};
use crate::store::db::schema::{
    failures, issue_subjects, left_issues, notifications, session_subjects, step_subjects, unheard_runs, untaken_wakes,
};
use crate::store::db::types::{Instant, LossyText, RawInstant, WrittenDocument};
use crate::store::hosts::catalog::is_readable;
use crate::store::read::items::{Item, ItemKind, OfferedCommand, Placed, SourceItems};
use crate::store::read::request::{Inquiry, ItemSource, Owner, PageRequest};
use crate::store::read::subject::{Age, SubjectRef, SubjectRow, subject_columns};
use crate::store::read::sweeper::{HeldWork, Sweeper};
use crate::store::work::find;
use crate::store::work::outbox::{Event, waiting};
use crate::store::work::surroundings::{StuckQuestion, UNSTARTED, all_stuck, all_unheard, describe_unheard, stuck};
use crate::store::{Db, Label};

/// Reads the items of all sources but the boards'.
pub fn read_all(db: &mut Db, inquiry: &Inquiry, sweeper: &Sweeper) -> QueryResult<Vec<SourceItems>> {
    let mut sources = vec![
        held_back(inquiry, sweeper),
        left_issues(db, inquiry)?,
        unheard_runs(db, inquiry)?,
        stuck_wakes(db, inquiry)?,
        quarantined(db, inquiry)?,
    ];
    // To whom they were to go is nobody's business but the operators'.
    if *inquiry.owner == Owner::default() {
        sources.push(undelivered(db, inquiry)?);
    }
    Ok(sources)
}

/// What the guard left as it was. There is little of it, in the row of one sweep; and what is held back of more than is
/// asked for holds that back as well.
fn held_back(inquiry: &Inquiry, sweeper: &Sweeper) -> SourceItems {
    let Owner { tenant, agent, .. } = inquiry.owner;
    let is_meant = |held: &&HeldWork| {
        (tenant.is_none() || held.tenant.is_none() || held.tenant == *tenant)
            && (agent.is_none() || held.agent_id.is_none() || held.agent_id == *agent)
    };
    let held = sweeper.left_alone.guard.iter().filter(is_meant).enumerate();
    let placed = held.map(|(number, held)| {
        let subject = SubjectRef {
            kind: Some(held.kind),
            tenant: held.tenant.clone(),
            agent_id: held.agent_id.clone(),
            agent: held.agent.clone(),
            ..SubjectRef::default()
        };
        let age = Age::at(Some(&held.place), inquiry.now);
        let item = Item::new(ItemKind::HeldBack, Need::HeldBack, subject, age, held.why.clone());
        let item = Item { offers: &[OfferedCommand::DryRun, OfferedCommand::Unguarded], ..item };
        item.placed(Some(held.place.clone()), ItemSource::Guard, Id(format!("{number:04}")))
    });
    let placed: Vec<Placed> = placed.collect();
    let total = placed.len() as i64;
    let after = inquiry.page.after(ItemSource::Guard);
    let is_later = |Placed { cursor, .. }: &Placed| match &after {
        ListPlace::Nothing => true,
        ListPlace::From(at) => *at <= cursor.since,
        ListPlace::Since(at) => *at < cursor.since,
        ListPlace::Row(at, key) => (at, &key.0) < (&cursor.since, &cursor.key.0),
    };
    (placed.into_iter().filter(is_later).collect(), total)
}

/// Issues that the host itself leaves to a person.
fn left_issues(db: &mut Db, inquiry: &Inquiry) -> QueryResult<SourceItems> {
    use left_issues::*;
    if !is_readable(db, "left_issues")? {
        return Ok((Vec::new(), 0));
    }
    let left = || owned!(left_issues::table.into_boxed(), tenant, agent_id, inquiry.owner.names());
    let later = after!(left(), inquiry.page.after(ItemSource::LeftIssue), since, subject_id);
    let later = later.order((since, subject_id)).limit(inquiry.page.rows());
    let rows: Vec<(SubjectRow, LossyText, RawInstant, LossyText)> =
        later.select((subject_columns!(left_issues), status, since, reason)).load(db)?;
    let total = inquiry.page.total(rows.len(), || left().count().get_result(db))?;
    let placed = rows.into_iter().filter_map(|(subject, stored, at, why)| {
        let key = subject.subject_id.clone()?;
        let (what, need, offers): (_, _, &[OfferedCommand]) = match stored.0 == UNSTARTED {
            true => (ItemKind::Unstarted, Need::Unstarted, &[OfferedCommand::Explain, OfferedCommand::Wake]),
            false => (ItemKind::BlockedByHost, Need::Blocked(inquiry.resume_advice), &[OfferedCommand::Explain]),
        };
        let subject = subject.into_linked(Some(Kind::Issue), inquiry.links);
        let item = Item::new(what, need, subject, Age::at(Some(&at), inquiry.now), why.into());
        Some(Item { offers, ..item }.placed(Some(at), ItemSource::LeftIssue, key))
    });
    Ok((placed.collect(), total))
}

/// Runs that have been at work for long, and have never shown a sign of life.
fn unheard_runs(db: &mut Db, inquiry: &Inquiry) -> QueryResult<SourceItems> {
    use unheard_runs::{agent_id, created_at, id, kind, since, tenant};
    if !is_readable(db, "unheard_runs")? {
        return Ok((Vec::new(), 0));
    }
    let all = || {
        let all = all_unheard!(inquiry.limits.run_silent_after, inquiry.now).into_boxed();
        owned!(all, tenant, agent_id, inquiry.owner.names())
    };
    let later = after!(all(), inquiry.page.after(ItemSource::Run), since, id);
    let rows: Vec<(Id, LossyText, SubjectRow, RawInstant, RawInstant)> = later
        .order((since, id))
        .limit(inquiry.page.rows())
        .select((id, kind, subject_columns!(unheard_runs), created_at, since))
        .load(db)?;
    let total = inquiry.page.total(rows.len(), || all().count().get_result(db))?;
    let placed = rows.into_iter().map(|(run, its_kind, subject, began, at)| {
        let age = Age::at(Some(&began), inquiry.now);
        let why = describe_unheard(&run, age.since.map_or(inquiry.limits.run_silent_after, |at| inquiry.now - at));
        let subject = subject.into_linked(Kind::parse(&its_kind.0), inquiry.links);
        let (need, offers): (_, &[OfferedCommand]) = match inquiry.is_native {
            true => (Need::UnheardRun, &[OfferedCommand::Explain, OfferedCommand::EndRun]),
            false => (Need::UnheardRunOfHost, &[OfferedCommand::Explain]),
        };
        let item = Item::new(ItemKind::UnheardRun, need, subject, age, why);
        Item { offers, run: Some(run.clone()), ..item }.placed(Some(at), ItemSource::Run, run)
    });
    Ok((placed.collect(), total))
}

/// Wakes that have been queued for too long.
pub fn stuck_wakes(db: &mut Db, inquiry: &Inquiry) -> QueryResult<SourceItems> {
    use untaken_wakes::{created_at, id, kind};
    if !is_readable(db, "untaken_wakes")? {
        return Ok((Vec::new(), 0));
    }
    let question = &inquiry.stuck_wakes();
    let later = after!(stuck!(question), inquiry.page.after(ItemSource::Wake), created_at, id);
    let later = later.order((created_at, id)).limit(inquiry.page.rows());
    let rows: Vec<(Id, Option<LossyText>, SubjectRow, RawInstant)> =
        later.select((id, kind, subject_columns!(untaken_wakes), created_at)).load(db)?;
    let total = inquiry.page.total(rows.len(), || stuck!(question).count().get_result(db))?;
    let placed = rows.into_iter().map(|(key, its_kind, subject, at)| {
        let age = Age::at(Some(&at), inquiry.now);
        let queued_for = age.since.map_or(question.after, |since| inquiry.now - since);
        let its_kind = its_kind.and_then(|name| Kind::parse(&name.0));
        let subject = subject.into_linked(its_kind, inquiry.links);
        let why = Reason::StuckWake(queued_for).to_string();
        let offers: &[OfferedCommand] = if its_kind.is_some() { &[OfferedCommand::Explain] } else { &[] };
        let item = Item { offers, ..Item::new(ItemKind::StuckWake, Need::StuckWake, subject, age, why) };
        item.placed(Some(at), ItemSource::Wake, key)
    });
    Ok((placed.collect(), total))
}

/// Rows of all kinds that sweeps examine no more.
pub fn quarantined(db: &mut Db, inquiry: &Inquiry) -> QueryResult<SourceItems> {
    let mut all = (Vec::new(), 0);
    for &kind in inquiry.kinds {
        let (placed, total) = quarantined_of(db, inquiry, kind)?;
        all.0.extend(placed);
        all.1 += total;
    }
    Ok(all)
}

fn quarantined_of(db: &mut Db, inquiry: &Inquiry, of: Kind) -> QueryResult<SourceItems> {
    use failures::{kind, quarantined_at, reason, subject_id};
    let (Owner { tenant, agent, .. }, source) = (inquiry.owner, ItemSource::quarantined(of));
    macro_rules! held {
        ($subjects:ident) => {{
            let all = failures::table.filter(kind.eq(of.name())).filter(quarantined_at.is_not_null()).into_boxed();
            let its = || $subjects::table.filter($subjects::subject_id.eq(subject_id));
            let of_tenant = match tenant {
                None => all,
                Some(one) => all.filter(exists(its().filter($subjects::tenant.eq(one)))),
            };
            match agent {
                None => of_tenant,
                Some(one) => of_tenant.filter(exists(its().filter($subjects::group_id.eq(one)))),
            }
        }};
    }
    let held = || match of {
        Kind::Session => held!(session_subjects),
        Kind::Issue => held!(issue_subjects),
        Kind::Step => held!(step_subjects),
    };
    let later = after!(held(), inquiry.page.after(source), quarantined_at, subject_id);
    let later = later.order((quarantined_at, subject_id)).limit(inquiry.page.rows());
    let rows: Vec<(Id, LossyText, Option<RawInstant>)> = later.select((subject_id, reason, quarantined_at)).load(db)?;
    let total = inquiry.page.total(rows.len(), || held().count().get_result(db))?;
    let placed = rows.into_iter().map(|(id, why, at)| {
        let Label { id, tenant, identifier } = find::label(db, of, &id)?.unwrap_or_else(|| Label::of_id(id));
        let subject = SubjectRef { kind: Some(of), id: Some(id.clone()), tenant, identifier, ..SubjectRef::default() };
        let (subject, age) = (subject.linked(inquiry.links), Age::at(at.as_ref(), inquiry.now));
        let item = Item::new(ItemKind::Quarantined, Need::Quarantined, subject, age, why.into());
        Ok(Item { offers: &[OfferedCommand::Explain, OfferedCommand::Release], ..item }.placed(at, source, id))
    });
    Ok((placed.collect::<QueryResult<_>>()?, total))
}

/// Notifications that were given up, or are late although they were tried.
fn undelivered(db: &mut Db, inquiry: &Inquiry) -> QueryResult<SourceItems> {
    let from = inquiry.page.after(ItemSource::Notification);
    let (rows, total) = failing_from(db, inquiry.now, &from, inquiry.page.rows())?;
    let placed = rows.into_iter().map(|dead| {
        let error = dead.last_error.map(|error| format!(": {error}")).unwrap_or_default();
        let (event, destination) = (Event::in_words(&dead.event), dead.destination);
        let how = if dead.is_given_up { "could not be" } else { "has not been" };
        let why = format!("the notification “{event}” {how} delivered to {destination}{error}");
        let (kind, id, identifier) = (Kind::parse(&dead.kind), dead.subject_id, dead.identifier);
        let subject = SubjectRef { kind, id, identifier, ..SubjectRef::default() }.linked(inquiry.links);
        let item = Item::new(ItemKind::Undelivered, Need::Undelivered, subject, dead.age, why);
        let item = Item { offers: &[OfferedCommand::TestNotification], ..item };
        item.placed(Some(dead.place), ItemSource::Notification, dead.id)
    });
    Ok((placed.collect(), total))
}

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
    /// `slack`, `teams`, `email`, `pagerduty` or `webhook`.
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
pub fn failing_from(
    db: &mut Db,
    now: DateTime<Utc>,
    from: &ListPlace,
    limit: i64,
) -> QueryResult<(Vec<Undelivered>, i64)> {
    use notifications::{created_at, id};
    let later = after!(failing!(now), from, created_at, id);
    let rows = later.order((created_at, id)).limit(limit).select(UndeliveredRow::as_select()).load(db)?;
    Ok((rows.into_iter().map(|row| row.into_undelivered(now)).collect(), failing!(now).count().get_result(db)?))
}
