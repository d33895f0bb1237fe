//! The ledger: one row for each attempt, escalation, recovery and handover, and one for each sweep.
//!
//! A subject has at most one open row: the last thing that sweep did about it, of which nothing has come yet. A new row
//! settles the one before it; a recovery and a handover are settled from the start.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Nullable};
use serde::Serialize;
use serde_json::json;

use crate::conclusion::Conclusion;
use crate::rules::{Id, Kind, OpenRecovery, Policy};
use crate::store::db::schema::{recoveries, sweeps};
use crate::store::db::types::{Bound, Document, Instant, LossyText, RawInstant, WrittenDocument, sql as types};
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

/// The first of these of which this database knows nothing.
pub fn unknown_sweep(db: &mut Db, ids: &[Id]) -> QueryResult<Option<Id>> {
    let known: Vec<Id> = sweeps::table.filter(sweeps::id.eq_any(ids)).select(sweeps::id).load(db)?;
    Ok(ids.iter().find(|id| !known.contains(id)).cloned())
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
        let Closing { ended, conclusion, partial, counts, oldest_left } = $closing;
        (
            sweeps::finished_at.eq($finished_at),
            sweeps::ended.eq(Some(ended.name())),
            sweeps::exit_code.eq(Some(conclusion as i32)),
            sweeps::partial.eq(partial),
            sweeps::succeeded.eq(!partial && ended == SweepEnd::Completed && conclusion.is_success()),
            sweeps::counts.eq(Document(counts)),
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
    let (ledger_until, ledger_counts) = totals_to_remember(db, now)?;
    let remembered = (sweeps::ledger_until.eq(Some(ledger_until)), sweeps::ledger_counts.eq(Some(ledger_counts)));
    let row = diesel::update(sweeps::table.filter(sweeps::id.eq(id)));
    row.set((closed!(Some(Instant(now)), closing), remembered)).execute(db).map(drop)
}

/// Writes the whole row of a sweep that found nothing to do: what is remembered of the ledger is what it was.
pub fn record_calm_sweep(db: &mut Db, id: &Id, host: &str, opening: &Opening, closing: Closing) -> QueryResult<()> {
    let (until, counts) = latest_memory!(opening.began_at);
    let remembered = (sweeps::ledger_until.eq(until), sweeps::ledger_counts.eq(counts));
    let now = sql::<Nullable<types::Moment>>(db.dialect().clock());
    let row = (opened!(id, host, *opening), closed!(now, closing), remembered);
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

/// How many rows were recorded, by kind and then by action, as stored. Each sweep that closes remembers the count: what
/// the one before it remembered, and what came since. So nobody counts the whole ledger again, and the count does not
/// fall when old rows are pruned.
pub type Totals = BTreeMap<String, BTreeMap<String, i64>>;

/// A row is counted for good when the transaction that wrote it has certainly ended.
pub(in crate::store) const SETTLED_AFTER: TimeDelta = TimeDelta::hours(1);

/// All that was ever recorded.
pub fn read_totals(db: &mut Db, now: DateTime<Utc>) -> QueryResult<Totals> {
    let remembered = remembered_totals(db, now)?;
    count_totals(db, remembered, None)
}

/// What a sweep that closes now remembers: the time, and the count of all rows before it.
pub fn totals_to_remember(db: &mut Db, now: DateTime<Utc>) -> QueryResult<(Instant, Document)> {
    let remembered = remembered_totals(db, now)?;
    // A clock that was set back makes nobody count twice.
    let until = remembered.0.instant().into_iter().chain([now - SETTLED_AFTER]).max().unwrap_or(now);
    let totals = count_totals(db, remembered, Some(until))?;
    Ok((Instant(until), Document(json!(totals))))
}

/// A column of the latest sweep that remembers; null: there is none. One whose clock was ahead remembers a time that
/// has not come.
macro_rules! latest {
    ($column:literal: $type:ty, $now:expr) => {
        diesel::dsl::sql::<diesel::sql_types::Nullable<$type>>(concat!(
            "(SELECT ", $column, " FROM sweeps WHERE ledger_until <= "
        ))
        .bind::<$crate::store::db::types::sql::Moment, _>(Instant($now))
        .sql(" ORDER BY started_at DESC LIMIT 1)")
    };
}

/// The time until which the ledger is counted, and the counts, as the latest sweep remembers them.
macro_rules! latest_memory {
    ($now:expr) => {{
        use $crate::store::db::types::sql as types;
        (
            $crate::store::work::ledger::latest!("ledger_until": types::Moment, $now),
            $crate::store::work::ledger::latest!("ledger_counts": types::JsonDocument, $now),
        )
    }};
}

/// The rows that a sweep that closes now would remember, and the latest one did not.
macro_rules! to_be_counted {
    ($now:expr) => {{
        use $crate::store::db::schema::recoveries::{created_at, table};
        use $crate::store::work::ledger::SETTLED_AFTER;
        let (until, _) = $crate::store::work::ledger::latest_memory!($now);
        table.filter(created_at.lt(Instant($now - SETTLED_AFTER))).filter(created_at.nullable().ge(until))
    }};
}
pub(in crate::store) use {latest, latest_memory, to_be_counted};

fn remembered_totals(db: &mut Db, now: DateTime<Utc>) -> QueryResult<(RawInstant, Totals)> {
    let latest: (Option<RawInstant>, Option<WrittenDocument>) = diesel::select(latest_memory!(now)).get_result(db)?;
    // What cannot be read is counted again, from the beginning.
    let read = latest.0.zip(latest.1.and_then(|counts| counts.read()));
    Ok(read.unwrap_or((RawInstant::Beginning, Totals::new())))
}

/// Adds the rows from one time on, and before another.
fn count_totals(db: &mut Db, counted: (RawInstant, Totals), until: Option<DateTime<Utc>>) -> QueryResult<Totals> {
    let (from, mut totals) = counted;
    use recoveries::{action, created_at, kind};
    let grouped = recoveries::table.group_by((kind, action)).select((kind, action, count_star())).into_boxed();
    // Others who may write to the ledger may name any number of kinds.
    totals.retain(|of_kind, _| Kind::parse(of_kind).is_some());
    let later = grouped.filter(kind.eq_any(Kind::names())).filter(created_at.ge(from));
    let counted = match until {
        None => later,
        Some(until) => later.filter(created_at.lt(Instant(until))),
    };
    for (of_kind, what, n) in counted.load::<(LossyText, LossyText, i64)>(db)? {
        *totals.entry(of_kind.0).or_default().entry(what.0).or_default() += n;
    }
    Ok(totals)
}
