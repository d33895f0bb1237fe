//! What stands around the subjects, and no rule for one of them sees.
//!
//! - Wakes that nobody takes up: whoever runs the agents is dead or overloaded. The views `untaken_wakes` and
//!   `wake_pickups`; a host without them has no stuck wakes, and a role that may not read them, as a dry run's need
//!   not, sees none.
//! - Runs at work that have never shown a sign of life: nobody can tell whether their processes live. The view
//!   `unheard_runs`, where a host has it.
//! - Issues that the host left to itself: what it blocked without notifying anybody, and what is to do and nothing will
//!   start. The view `left_issues`, where a host has it.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::{count_star, exists as is_any, max, min, select, sql};
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use serde::Serialize;

use crate::rules::display::HumanDuration;
use crate::rules::{Id, Kind, TERMINATED};
use crate::store::Db;
use crate::store::db::lists::owned;
use crate::store::db::schema::{left_issues, recoveries, unheard_runs, untaken_wakes, wake_pickups, wakes};
use crate::store::db::types::{Instant, LossyText, RawInstant};
use crate::store::hosts::catalog::{exists, is_readable};
use crate::store::work::outbox::Event;

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

/// The tenant and the agent whose stuck wakes are asked for.
#[derive(Clone, Copy, Debug)]
pub struct StuckQuestion<'a> {
    /// None: every tenant's.
    pub tenant: Option<&'a str>,
    /// None: every agent's.
    pub agent: Option<&'a Id>,
    /// For how long a wake may be pending before it is stuck.
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

/// Those of the stuck wakes that a question is about: a boxed query.
macro_rules! stuck {
    ($question:expr) => {{
        use $crate::store::db::schema::untaken_wakes::columns;
        let question: &StuckQuestion = $question;
        let all = all_stuck!(question.after, question.now).into_boxed();
        owned!(all, columns::tenant, columns::agent_id, (question.tenant, question.agent))
    }};
}
pub(in crate::store) use stuck;

/// Reads how many wakes are stuck, since when, and whether any wake is taken up at all.
pub fn read_stuck(db: &mut Db, question: &StuckQuestion) -> QueryResult<StuckWakes> {
    if !is_readable(db, "untaken_wakes")? {
        return Ok(StuckWakes::default());
    }
    let columns = (count_star(), min(untaken_wakes::created_at));
    let (count, oldest): (i64, Option<RawInstant>) = stuck!(question).select(columns).get_result(db)?;
    let oldest_at = oldest.and_then(|at| at.instant());
    Ok(StuckWakes { count, oldest_at, none_is_taken: is_none_taken(db, question, count)? })
}

/// How many wakes are stuck.
pub fn count_stuck(db: &mut Db, question: &StuckQuestion) -> QueryResult<i64> {
    if is_readable(db, "untaken_wakes")? { stuck!(question).count().get_result(db) } else { Ok(0) }
}

/// Was no wake taken up since the newest of the stuck ones was made? One that was passed over, while later ones were
/// taken up, says nothing of who runs the agents, and neither does one whose agent was terminated.
pub fn is_none_taken(db: &mut Db, question: &StuckQuestion, stuck: i64) -> QueryResult<bool> {
    use untaken_wakes::{agent_status, created_at};
    // Asked only when it matters: a host may have to look through its runs.
    if stuck == 0 || !is_readable(db, "wake_pickups")? {
        return Ok(false);
    }
    let now = question.now;
    let that_count = stuck!(question).filter(agent_status.ne(TERMINATED)).filter(created_at.le(Instant(now)));
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

/// The runs that have shown no sign of life for longer than a limit, and never any.
macro_rules! all_unheard {
    ($after:expr, $now:expr) => {{
        use $crate::store::db::schema::unheard_runs::columns;
        unheard_runs::table.filter(columns::since.lt(Instant($now - $after)))
    }};
}
pub(in crate::store) use all_unheard;

/// What a person is told of such a run.
pub fn describe_unheard(run: &Id, silent_for: TimeDelta) -> String {
    let run: String = run.0.chars().take(8).collect();
    format!("run {run} has been running for {} without a sign of life", HumanDuration(silent_for))
}

/// A notification's subject, and why people are notified.
#[derive(Clone, Debug, Queryable)]
pub struct LeftWork {
    pub id: Id,
    pub tenant: LossyText,
    pub identifier: Option<LossyText>,
    pub title: LossyText,
    pub agent_name: Option<LossyText>,
    pub reason: LossyText,
}

/// The status of those of which people are notified by an event.
pub const LEFT: [(Event, &str); 2] = [(Event::HostBlocked, "blocked"), (Event::Unstarted, UNSTARTED)];

/// The status of those that nothing will start.
pub const UNSTARTED: &str = "todo";

/// People are notified of so many by one event in one sweep, the oldest first.
const AT_ONCE_MAX: i64 = 100;

/// The condition that nobody was notified by an event of the subject of a row, since that began: at this column's time.
fn is_new(event: Event, relation: &str, began: &str) -> SqlLiteral<Bool> {
    sql::<Bool>(&format!(
        "NOT EXISTS (SELECT 1 FROM notifications n WHERE n.event = '{}' AND n.subject_id = {relation}.subject_id \
         AND n.created_at >= {relation}.{began})",
        event.name()
    ))
}

/// Has the host this view?
pub fn has_view(db: &mut Db, view: &str) -> QueryResult<bool> {
    exists(db, view)
}

/// The runs of which people have to be notified, and were not, with the kind of what they work on: those of a tenant,
/// or all.
pub fn unnotified_runs(db: &mut Db, of_tenant: Option<&str>, after: TimeDelta) -> QueryResult<Vec<(Kind, LeftWork)>> {
    use unheard_runs::*;
    let now = db.now()?;
    let new = all_unheard!(after, now).filter(is_new(Event::RunUnheard, "unheard_runs", "created_at"));
    let new = new.select(((subject_id, tenant, identifier, title, agent_name), kind, id, created_at));
    let all = new.order((since, id)).limit(AT_ONCE_MAX).into_boxed();
    type Row = ((Id, LossyText, Option<LossyText>, LossyText, Option<LossyText>), LossyText, Id, RawInstant);
    let rows: Vec<Row> = owned!(all, tenant, agent_id, (of_tenant, None)).load(db)?;
    let read = |((its_id, its_tenant, its_identifier, its_title, agent), its_kind, run, at): Row| {
        let reason = LossyText(describe_unheard(&run, now - at.instant()?));
        let work = LeftWork {
            id: its_id,
            tenant: its_tenant,
            identifier: its_identifier,
            title: its_title,
            agent_name: agent,
            reason,
        };
        Some((Kind::parse(&its_kind.0)?, work))
    };
    Ok(rows.into_iter().filter_map(read).collect())
}

/// Those of a tenant, or all, of which nobody was notified: by each of these events those of its status.
pub fn unnotified(
    db: &mut Db,
    of_tenant: Option<&str>,
    wanted: &[(Event, &str)],
) -> QueryResult<Vec<(Event, LeftWork)>> {
    use left_issues::*;
    let mut unnotified = Vec::new();
    for &(event, of_status) in wanted {
        let columns = (subject_id, tenant, identifier, title, agent_name, reason);
        let new = left_issues::table.select(columns).filter(status.eq(of_status));
        let new = new.filter(is_new(event, "left_issues", "since"));
        let all = new.order((since, subject_id)).limit(AT_ONCE_MAX).into_boxed();
        let owned = owned!(all, tenant, agent_id, (of_tenant, None));
        unnotified.extend(owned.load(db)?.into_iter().map(|issue| (event, issue)));
    }
    Ok(unnotified)
}
