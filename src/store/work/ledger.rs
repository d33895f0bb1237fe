//! The ledger: one row for each attempt, escalation, recovery and handover, and one for each sweep.
//!
//! A subject has at most one open row: the last thing that sweep did about it, of which nothing has come yet. A new row
//! settles the one before it; a recovery and a handover are settled from the start.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable};
use serde::Serialize;

use crate::conclusion::Conclusion;
use crate::rules::{Id, Kind, OpenRecovery, Policy};
use crate::store::db::schema::{recoveries, sweeps};
use crate::store::db::types::{Bound, Document, Instant, sql as types};
use crate::store::db::written::Writes;
use crate::store::hosts::boards;
use crate::store::work::candidates::Shard;
use crate::store::{Db, Label, Subject};
use crate::text::{cut, plain, redact};

/// The author of what sweep writes, wherever a host asks.
pub const ACTOR: &str = "sweep";

/// What a row of `recoveries` records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Action {
    Continue,
    Escalate,
    Recover,
    HandOver,
    Abandon,
}

impl Action {
    pub const ALL: &[Action] = <Action as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Nothing can come of it any more.
    fn is_the_end(self) -> bool {
        match self {
            Action::Continue | Action::Escalate | Action::Abandon => false,
            Action::Recover | Action::HandOver => true,
        }
    }
}

/// One row of `recoveries`.
#[derive(Clone, Debug)]
pub struct LedgerEntry<'a> {
    pub id: &'a Id,
    pub sweep_id: &'a Id,
    pub action: Action,
    pub reason: String,
    pub attempt: u32,
    pub wake_id: Option<&'a Id>,
    /// None: a sweep.
    pub requested_by: Option<&'a str>,
    pub blocked_subject: bool,
    /// People are told that the subject's agent is gone or terminated.
    pub lost_agent: bool,
    /// The open row of which this is what came.
    pub settles: Option<&'a OpenRecovery>,
}

/// Characters of the name of whoever asked, besides a sign that it was cut: the table takes 200.
const NAME_MAX: usize = 199;

/// Writes one row about a subject and settles the open one that it says. Fails with `UniqueViolation` when another
/// sweep was first, with `NotFound` when it has settled the open row.
pub fn record<'a, S: Subject>(writes: &mut Writes<'a>, facts: &'a S, entry: &'a LedgerEntry) {
    let history = facts.history();
    if let Some(open) = entry.settles {
        settle(writes, open, history.observed_at);
    }
    let row = diesel::insert_into(recoveries::table).values((
        recoveries::id.eq(entry.id),
        recoveries::sweep_id.eq(entry.sweep_id),
        recoveries::kind.eq(S::KIND.name()),
        recoveries::subject_id.eq(facts.id()),
        recoveries::action.eq(entry.action.name()),
        // A host copies it to where its people read it.
        recoveries::reason.eq(plain(&redact(&entry.reason))),
        recoveries::episode_began_at.eq(Instant(history.episode_began_at)),
        recoveries::attempt.eq(i32::try_from(entry.attempt).unwrap_or(i32::MAX)),
        recoveries::wake_id.eq(entry.wake_id),
        recoveries::agent_id.eq(Bound::optional(facts.assignee().id())),
        recoveries::tenant.eq(facts.naming().tenant),
        recoveries::requested_by.eq(entry.requested_by.map(|name| cut(&plain(&redact(name)), NAME_MAX))),
        recoveries::blocked_subject.eq(entry.blocked_subject),
        recoveries::lost_agent.eq(entry.lost_agent),
        recoveries::settled_at.eq(entry.action.is_the_end().then_some(Instant(history.observed_at))),
    ));
    writes.insert("recoveries", row);
}

/// Notes that the host of an issue was told to go on with it, by its own call: the ledger's row says who asked for
/// that, and what is open stays open.
pub fn record_host_call(db: &mut Db, issue: &Label, agent: Option<&Id>, by: &str) -> QueryResult<()> {
    let now = Instant(db.now()?);
    let row = diesel::insert_into(recoveries::table).values((
        recoveries::id.eq(Id::generate()),
        recoveries::sweep_id.eq(Id::generate()),
        recoveries::kind.eq(Kind::Issue.name()),
        recoveries::subject_id.eq(&issue.id),
        recoveries::action.eq(Action::HandOver.name()),
        recoveries::reason.eq("its host was told to go on with it"),
        recoveries::episode_began_at.eq(&now),
        recoveries::attempt.eq(0),
        recoveries::agent_id.eq(Bound::optional(agent)),
        recoveries::tenant.eq(issue.tenant.as_deref()),
        recoveries::requested_by.eq(cut(&plain(&redact(by)), NAME_MAX)),
        recoveries::settled_at.eq(Some(&now)),
    ));
    row.execute(db).map(drop)
}

fn settle<'a>(writes: &mut Writes<'a>, open: &'a OpenRecovery, now: DateTime<Utc>) {
    let still_open = recoveries::table.filter(recoveries::id.eq(&open.id)).filter(recoveries::settled_at.is_null());
    writes.update_as_seen(diesel::update(still_open).set(recoveries::settled_at.eq(Some(Instant(now)))));
}

/// Nothing can come any more of what is open about subjects that were deleted.
pub fn settle_deleted<S: Subject>(db: &mut Db) -> QueryResult<()> {
    let now = Instant(db.now()?);
    let deleted = recoveries::table.filter(sql::<Bool>(&open_of_deleted::<S>()));
    diesel::update(deleted).set(recoveries::settled_at.eq(Some(now))).execute(db).map(drop)
}

/// A condition of SQL: a row is open, and its subject was deleted.
pub fn open_of_deleted<S: Subject>() -> String {
    let is_deleted = format!("NOT EXISTS (SELECT 1 FROM {} s WHERE s.id = recoveries.subject_id)", S::RELATION);
    format!("kind = '{}' AND settled_at IS NULL AND {is_deleted}", S::KIND)
}

/// The first of these of which this database knows nothing. The row of one that began more than a day ago may have been
/// removed: decisions.md#what-is-over
pub fn unknown_sweep(db: &mut Db, ids: &[Id]) -> QueryResult<Option<Id>> {
    let known: Vec<Id> = sweeps::table.filter(sweeps::id.eq_any(ids)).select(sweeps::id).load(db)?;
    let yesterday = db.now()? - TimeDelta::days(1);
    let is_young = |id: &Id| id.made_at().is_none_or(|at| yesterday < at);
    Ok(ids.iter().find(|id| !known.contains(id) && is_young(id)).cloned())
}

/// Did the transaction that wrote this row commit?
pub fn contains(db: &mut Db, id: &Id) -> QueryResult<bool> {
    diesel::select(diesel::dsl::exists(recoveries::table.filter(recoveries::id.eq(id)))).get_result(db)
}

/// How a sweep ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SweepEnd {
    #[default]
    Completed,
    /// A signal ended it; what was in hand was finished.
    Interrupted,
    /// The database went away.
    Failed,
}

impl SweepEnd {
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// What is known of a sweep when it begins.
#[derive(Clone, Copy)]
pub struct Opening<'a> {
    pub began_at: DateTime<Utc>,
    /// It does not look at everything: at named subjects, one tenant or some kinds only.
    pub is_restricted: bool,
    pub shard: Option<Shard>,
    pub policy: &'a Policy,
}

/// What a sweep records when it ends.
pub struct Closing {
    pub ended: SweepEnd,
    pub conclusion: Conclusion,
    /// As at its opening, or the deadline came before everything was seen.
    pub partial: bool,
    pub counts: serde_json::Value,
    /// It found nothing to do.
    pub idle: bool,
    /// Since when the oldest subject that was left has been idle.
    pub oldest_left: Option<DateTime<Utc>>,
}

/// The columns that are written when a sweep begins.
macro_rules! opened {
    ($id:expr, $host:expr, $opening:expr) => {{
        let Opening { began_at, is_restricted, shard, policy } = $opening;
        let Shard { index, count } = shard.unwrap_or(Shard { index: 0, count: 1 });
        (
            sweeps::id.eq($id),
            sweeps::host.eq($host),
            sweeps::version.eq(env!("CARGO_PKG_VERSION")),
            sweeps::started_at.eq(Instant(began_at)),
            sweeps::is_restricted.eq(is_restricted),
            sweeps::shard.eq(index as i32),
            sweeps::shards.eq(count as i32),
            sweeps::policy.eq(Document(serde_json::json!(policy))),
        )
    }};
}

/// The columns that are written when a sweep has ended.
macro_rules! closed {
    ($finished_at:expr, $closing:expr) => {{
        let Closing { ended, conclusion, partial, counts, idle, oldest_left } = $closing;
        (
            sweeps::finished_at.eq($finished_at),
            sweeps::ended.eq(Some(ended.name())),
            sweeps::exit_code.eq(Some(conclusion as i32)),
            sweeps::partial.eq(partial),
            sweeps::succeeded.eq(!partial && ended == SweepEnd::Completed && conclusion.is_success()),
            sweeps::counts.eq(Document(counts)),
            sweeps::idle.eq(idle),
            sweeps::oldest_left_at.eq(oldest_left.map(Instant)),
        )
    }};
}

/// Opens the row of a sweep: one that never gets its `finished_at` is running, or was killed.
pub fn open_sweep(db: &mut Db, id: &Id, host: &str, opening: &Opening) -> QueryResult<()> {
    if !opening.is_restricted {
        boards::write(db, opening.policy)?;
    }
    let row = (opened!(id, host, *opening), sweeps::partial.eq(opening.is_restricted));
    diesel::insert_into(sweeps::table).values(row).execute(db).map(drop)
}

pub fn close_sweep(db: &mut Db, id: &Id, closing: Closing) -> QueryResult<()> {
    let now = db.now()?;
    let row = diesel::update(sweeps::table.filter(sweeps::id.eq(id)));
    row.set(closed!(Some(Instant(now)), closing)).execute(db).map(drop)
}

/// Writes the whole row of a sweep that found nothing to do.
pub fn record_calm_sweep(db: &mut Db, id: &Id, host: &str, opening: &Opening, closing: Closing) -> QueryResult<()> {
    let now = sql::<Nullable<types::Moment>>(db.dialect().clock());
    let row = (opened!(id, host, *opening), closed!(now, closing));
    diesel::insert_into(sweeps::table).values(row).execute(db).map(drop)
}

/// The latest rows are shown, and how many there are.
const LATEST_MAX: i64 = 20;

/// One row of `recoveries`.
#[derive(Clone, Debug, PartialEq, Queryable, Serialize)]
pub struct Recovery {
    #[serde(rename = "at")]
    pub created_at: DateTime<Utc>,
    /// `continue`, `escalate`, `recover`, `hand_over`, `abandon`.
    pub action: String,
    pub attempt: i32,
    pub reason: String,
    /// The person who asked for it; null: a sweep.
    pub requested_by: Option<String>,
    /// This escalation set the subject blocked.
    pub blocked_subject: bool,
    /// Null: nothing has come of it yet.
    pub settled_at: Option<DateTime<Utc>>,
}

/// What sweep did about one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Past {
    pub total: i64,
    /// The latest, oldest first.
    pub latest: Vec<Recovery>,
}

/// What the ledger says of one subject.
pub fn history_of(db: &mut Db, subject: Kind, id: &Id) -> QueryResult<Past> {
    use recoveries::{
        action, attempt, blocked_subject, created_at, kind, reason, requested_by, settled_at, subject_id, table,
    };
    let rows = || table.filter(kind.eq(subject.name())).filter(subject_id.eq(id));
    let columns = (created_at, action, attempt, reason, requested_by, blocked_subject, settled_at);
    let total = rows().count().get_result(db)?;
    let latest = rows().select(columns).order((created_at.desc(), recoveries::id.desc())).limit(LATEST_MAX);
    let mut latest = latest.load::<Recovery>(db)?;
    latest.reverse();
    Ok(Past { total, latest })
}
