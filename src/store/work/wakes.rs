//! Wakes that nobody takes up: whoever runs the agents is dead or overloaded. The views `untaken_wakes` and
//! `wake_pickups`; a host without them has no stuck wakes, and a role that may not read them, as a dry run's need not,
//! sees none.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::{count_star, exists as is_any, max, min, select};
use diesel::prelude::*;
use serde::Serialize;

use crate::rules::{Id, Kind, TERMINATED};
use crate::store::Db;
use crate::store::db::after::{After, after};
use crate::store::db::schema::{recoveries, untaken_wakes, wake_pickups, wakes};
use crate::store::db::types::{Instant, LossyText, RawInstant};
use crate::store::hosts::catalog::is_readable;

/// The wakes that have been pending for longer than a limit, and of which no run has begun.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct StuckWakes {
    pub count: i64,
    /// None as well when its time cannot be read.
    pub oldest_at: Option<DateTime<Utc>>,
    /// There are some, and no wake at all was taken up since the newest of them was made, which is longer ago than the
    /// limit.
    pub none_is_taken: bool,
}

/// One of them; the fields are those of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct StuckWake {
    pub id: Id,
    /// `issue`, `step`; null: the wake is about neither.
    pub kind: Option<String>,
    pub subject_id: Option<Id>,
    pub tenant: String,
    pub identifier: Option<String>,
    /// The page of its subject in the host's own board.
    pub url: Option<String>,
    pub title: Option<String>,
    #[serde(skip)]
    pub agent_id: Option<Id>,
    pub agent: Option<String>,
    pub since: Option<DateTime<Utc>>,
    pub age_seconds: Option<i64>,
    /// Its place among them.
    #[serde(skip)]
    pub place: RawInstant,
}

/// Whose, and from when on they are stuck.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Of one alone.
    pub tenant: Option<&'a str>,
    pub agent: Option<&'a Id>,
    /// The limit.
    pub after: TimeDelta,
    pub now: DateTime<Utc>,
}

/// Older than the limit, or dated by a clock that was ahead. Those of an agent that rests are not; a terminated one's
/// wait for ever.
macro_rules! all_stuck {
    ($after:expr, $now:expr) => {{
        use $crate::store::db::schema::untaken_wakes::columns;
        let is_old = columns::created_at.lt(Instant($now - $after));
        let is_old = is_old.or(columns::created_at.gt(Instant($now + $crate::rules::AHEAD_MAX)));
        untaken_wakes::table.filter(columns::agent_status.ne_all($crate::rules::RESTING)).filter(is_old)
    }};
}
pub(in crate::store) use all_stuck;

macro_rules! stuck {
    ($wanted:expr) => {{
        use $crate::store::db::schema::untaken_wakes::columns;
        let Wanted { tenant, agent, after, now } = *$wanted;
        let all = all_stuck!(after, now).into_boxed();
        let of_tenant = match tenant {
            None => all,
            Some(one) => all.filter(columns::tenant.eq(one)),
        };
        match agent {
            None => of_tenant,
            Some(one) => of_tenant.filter(columns::agent_id.eq(one)),
        }
    }};
}

/// How many there are, since when, and whether any wake is taken up at all.
pub fn stuck(db: &mut Db, wanted: &Wanted) -> QueryResult<StuckWakes> {
    if !is_readable(db, "untaken_wakes")? {
        return Ok(StuckWakes::default());
    }
    let columns = (count_star(), min(untaken_wakes::created_at));
    let (count, oldest): (i64, Option<RawInstant>) = stuck!(wanted).select(columns).get_result(db)?;
    // Asked only when it matters: a host may have to look through its runs.
    let none_is_taken = 0 < count && is_readable(db, "wake_pickups")? && is_none_taken(db, wanted)?;
    Ok(StuckWakes { count, oldest_at: oldest.and_then(|at| at.instant()), none_is_taken })
}

/// How many there are.
pub fn count(db: &mut Db, wanted: &Wanted) -> QueryResult<i64> {
    match is_readable(db, "untaken_wakes")? {
        true => stuck!(wanted).count().get_result(db),
        false => Ok(0),
    }
}

/// Was no wake taken up since the newest of the stuck ones was made? One that was passed over, while later ones were
/// taken up, says nothing of who runs the agents, and neither does one whose agent was terminated.
fn is_none_taken(db: &mut Db, wanted: &Wanted) -> QueryResult<bool> {
    use untaken_wakes::{agent_status, created_at};
    let now = wanted.now;
    let that_count = stuck!(wanted).filter(agent_status.ne(TERMINATED)).filter(created_at.le(Instant(now)));
    let newest: Option<RawInstant> = that_count.select(max(created_at)).get_result(db)?;
    let Some(newest) = newest.and_then(|at| at.instant()) else { return Ok(false) };
    let taken = wake_pickups::table.filter(wake_pickups::taken_at.between(Instant(newest), Instant(now)));
    Ok(!select(is_any(taken)).get_result::<bool>(db)?)
}

/// For which agents a subject's continuations have queued wakes, as the host has them.
pub fn agents_woken(db: &mut Db, kind: Kind, id: &Id) -> QueryResult<Vec<Id>> {
    let of_subject = recoveries::table.filter(recoveries::kind.eq(kind.name())).filter(recoveries::subject_id.eq(id));
    let wakes_of: Vec<Option<Id>> = of_subject.select(recoveries::wake_id).load(db)?;
    let wakes_of: Vec<Id> = wakes_of.into_iter().flatten().collect();
    wakes::table.filter(wakes::id.eq_any(wakes_of)).select(wakes::agent_id).load(db)
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = untaken_wakes)]
struct WakeRow {
    id: Id,
    kind: Option<LossyText>,
    subject_id: Option<Id>,
    tenant: LossyText,
    identifier: Option<LossyText>,
    title: Option<LossyText>,
    agent_id: Option<Id>,
    agent_name: Option<LossyText>,
    created_at: RawInstant,
}

impl WakeRow {
    fn into_wake(self, now: DateTime<Utc>) -> StuckWake {
        let (since, age_seconds) = self.created_at.with_age(now);
        StuckWake {
            id: self.id,
            kind: self.kind.map(LossyText::into),
            subject_id: self.subject_id,
            tenant: self.tenant.into(),
            identifier: self.identifier.map(LossyText::into),
            url: None,
            title: self.title.map(LossyText::into),
            agent_id: self.agent_id,
            agent: self.agent_name.map(LossyText::into),
            since,
            age_seconds,
            place: self.created_at,
        }
    }
}

/// The oldest of them, from a place on.
pub fn oldest(db: &mut Db, wanted: &Wanted, from: &After, limit: i64) -> QueryResult<Vec<StuckWake>> {
    if !is_readable(db, "untaken_wakes")? {
        return Ok(Vec::new());
    }
    let wakes = stuck!(wanted).select(WakeRow::as_select());
    let later = after!(wakes, from, untaken_wakes::created_at, untaken_wakes::id);
    let rows = later.order((untaken_wakes::created_at, untaken_wakes::id)).limit(limit).load(db)?;
    Ok(rows.into_iter().map(|row| row.into_wake(wanted.now)).collect())
}
