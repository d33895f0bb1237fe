//! What is measured, as the database has it: in one snapshot, the same to every process that asks.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result};
use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::{count_star, exists, min, not};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use crate::conclusion::Conclusion;
use crate::rules::Kind;
use crate::rules::board::BoardState;
use crate::store::connect::open::patience::Patience;
use crate::store::connect::open::{Store, Url};
use crate::store::db::schema::{agent_exemptions, exemptions, failures, notifications, recoveries, tenant_exemptions};
use crate::store::db::types::{Instant, LossyText, RawInstant};
use crate::store::hosts::rights::Purpose;
use crate::store::read::kept::Kept;
use crate::store::read::sweeper::{SweepRow, last_success, latest_whole};
use crate::store::read::{BoardLimits, snapshot};
use crate::store::work::counts::{KindCounts, KindMode, Tally};
use crate::store::work::history::{DaySum, Totals, of_last, read_days, totals_of};
use crate::store::work::ledger::Action;
use crate::store::work::outbox::{Destination, waiting};
use crate::store::work::surroundings::{StuckQuestion, StuckWakes, read_stuck};
use crate::store::{Access, Db, Timeouts};

/// Everything that is measured at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    /// When it was read, by the database's clock.
    pub read_at: DateTime<Utc>,
    /// Those that the database provides.
    pub kinds: Vec<Kind>,
    pub last_success_at: Option<DateTime<Utc>>,
    pub last_sweep: Option<LastSweep>,
    pub work: Work,
    /// How many rows of each kind are in quarantine.
    pub quarantined: BTreeMap<String, i64>,
    pub recoveries: Totals,
    pub false_rescues: i64,
    /// What waits for a person, by the ledger: its action, then its kind.
    pub waiting: BTreeMap<String, BTreeMap<String, Waiting>>,
    /// Handovers of the last seven days, today's among them, by kind.
    pub handed_over: BTreeMap<String, i64>,
    pub stuck_wakes: StuckWakes,
    pub outbox: Outbox,
}

/// How many subjects of each kind are in which of its states, also where none is.
pub type Work = BTreeMap<Kind, BTreeMap<BoardState, i64>>;

/// How the work of one database stands, for a process that reads the metrics again and again.
pub type KeptWork = Kept<Work>;

/// Subjects of which people were notified, and nothing has come of it yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    pub subjects: i64,
    /// Since when the oldest.
    pub oldest_at: Option<DateTime<Utc>>,
}

/// The latest sweep of everything; its shards, if it has any, added up.
#[derive(Clone, Debug)]
pub struct LastSweep {
    pub ended_at: Option<DateTime<Utc>>,
    /// How long the shard took that took longest.
    pub took: Option<TimeDelta>,
    /// The one that needs attention, if there is one.
    pub exit_code: Option<i32>,
    /// Those that were on: what is in shadow is not done.
    pub kinds: BTreeMap<Kind, Swept>,
}

/// What became of the subjects of one kind.
#[derive(Clone, Debug, Default)]
pub struct Swept {
    pub tally: Tally,
    pub guarded: bool,
    pub oldest_deferred_at: Option<DateTime<Utc>>,
}

/// Notifications that have not been delivered, by destination.
#[derive(Clone, Debug, Default)]
pub struct Outbox {
    pub pending: BTreeMap<String, i64>,
    pub dead: BTreeMap<String, i64>,
    pub oldest_pending_at: Option<DateTime<Utc>>,
}

/// Connects and reads.
pub fn read_from(url: &Url, timeouts: &Timeouts, kept: &Arc<KeptWork>) -> Result<Reading> {
    read_within(Patience::of(url.patience(timeouts.question())), url, timeouts, kept)
}

/// Connects and reads within this patience.
pub fn read_within(patience: Patience, url: &Url, timeouts: &Timeouts, kept: &Arc<KeptWork>) -> Result<Reading> {
    let (its_timeouts, kept) = (*timeouts, Arc::clone(kept));
    url.ask_within(patience, move |url| {
        let mut store = url.open_to(Purpose::Measure)?;
        read(&mut store, &its_timeouts, &kept).map_err(|error| url.explain(error))
    })
}

/// Counts the work anew, if that is due: nobody waits for it.
pub fn refresh(url: &Url, timeouts: &Timeouts, kept: &Arc<KeptWork>) -> Result<()> {
    if !kept.is_due() {
        return Ok(());
    }
    let (its_timeouts, kept) = (*timeouts, Arc::clone(kept));
    url.ask(timeouts, move |url| {
        let Store { mut db, kinds, .. } = url.open_to(Purpose::Measure)?;
        snapshot(&mut db, &its_timeouts, |db| {
            let now = db.now()?;
            kept.count(now, || count_work(db, &kinds))?;
            Ok(())
        })
    })
}

pub fn read(store: &mut Store, timeouts: &Timeouts, kept: &KeptWork) -> Result<Reading> {
    let Store { db, kinds, .. } = store;
    let read = db.in_transaction(Access::ReadOnly, timeouts, |db| -> QueryResult<_> {
        let read_at = db.now()?;
        let limits = BoardLimits::read(db)?;
        let days = read_days(db, None)?;
        let week: Vec<&DaySum> = of_last(&days, 7, read_at).collect();
        let question = StuckQuestion { tenant: None, agent: None, after: limits.wake_stuck_after, now: read_at };
        Ok(Reading {
            read_at,
            kinds: kinds.clone(),
            last_success_at: last_success(db, read_at)?,
            last_sweep: LastSweep::of(&latest_whole(db, read_at)?),
            work: kept.read(read_at, || count_work(db, kinds))?.0,
            quarantined: quarantined(db)?,
            recoveries: totals_of(&days),
            false_rescues: week.iter().map(|sum| sum.in_vain).sum(),
            waiting: waiting_for_people(db, read_at)?,
            handed_over: handed_over(&week),
            stuck_wakes: read_stuck(db, &question)?,
            outbox: outbox(db)?,
        })
    });
    read.map_err(anyhow::Error::from).context("reading the metrics")
}

impl LastSweep {
    fn of(shards: &[SweepRow]) -> Option<LastSweep> {
        let ends =
            || shards.iter().filter_map(|row| Some((row.started_at.instant()?, row.finished_at.as_ref()?.instant()?)));
        let codes = || shards.iter().filter_map(|row| row.exit_code);
        let mut kinds: BTreeMap<Kind, Swept> = BTreeMap::new();
        for (kind, counts) in shards.iter().flat_map(|row| KindCounts::read(&row.counts)) {
            if counts.provided && counts.mode == KindMode::On {
                let swept = kinds.entry(kind).or_default();
                swept.tally = swept.tally.plus(counts.tally);
                swept.guarded |= counts.is_guarded();
                swept.oldest_deferred_at = swept.oldest_deferred_at.into_iter().chain(counts.oldest_deferred_at).min();
            }
        }
        (!shards.is_empty()).then(|| LastSweep {
            ended_at: ends().map(|(_, ended)| ended).max(),
            took: ends().map(|(began, ended)| (ended - began).max(TimeDelta::zero())).max(),
            exit_code: codes()
                .filter(|code| !Conclusion::of(*code).is_some_and(Conclusion::is_success))
                .max()
                .or(codes().max()),
            kinds,
        })
    }
}

/// Counts the work in the states that boards show, and with it the issues that escalations blocked. The DSL knows no
/// view of each kind.
fn count_work(db: &mut Db, kinds: &[Kind]) -> QueryResult<Work> {
    let mut work = Work::new();
    for &kind in kinds {
        let blocked = match kind {
            Kind::Issue => {
                format!(" UNION ALL SELECT '{}', count(*) FROM escalated_issues", BoardState::Escalated.name())
            }
            Kind::Step | Kind::Session => String::new(),
        };
        let counts = format!("SELECT state, count(*) AS subjects FROM {kind}_states GROUP BY state{blocked}");
        let states = BoardState::ALL.iter().filter(|state| state.is_of(kind));
        let of_kind = work.entry(kind).or_insert_with(|| states.map(|state| (*state, 0)).collect());
        for InState { state, subjects } in diesel::sql_query(counts).load::<InState>(db)? {
            // A state that this version does not know is one of a newer one's.
            let known = state.and_then(|state| BoardState::parse(&state.0));
            known.into_iter().for_each(|state| *of_kind.entry(state).or_default() += subjects);
        }
    }
    Ok(work)
}

/// How many subjects of a kind are in a state.
#[derive(QueryableByName)]
struct InState {
    #[diesel(sql_type = Nullable<Text>)]
    state: Option<LossyText>,
    #[diesel(sql_type = BigInt)]
    subjects: i64,
}

fn quarantined(db: &mut Db) -> QueryResult<BTreeMap<String, i64>> {
    use failures::*;
    let held = failures::table.group_by(kind).select((kind, count_star())).filter(quarantined_at.is_not_null());
    let held = held.filter(kind.eq_any(Kind::names()));
    by_name(held.load(db)?)
}

/// The open rows of the ledger that call for a person.
fn waiting_for_people(db: &mut Db, now: DateTime<Utc>) -> QueryResult<BTreeMap<String, BTreeMap<String, Waiting>>> {
    use recoveries::*;
    let calls = [Action::Escalate, Action::Abandon].map(Action::name);
    let open = recoveries::table.group_by((action, kind)).select((action, kind, count_star(), min(created_at)));
    // What an operator has exempted calls for nobody.
    macro_rules! exempted {
        ($exemptions:ident, $is_its:expr) => {
            not(exists(
                $exemptions::table
                    .filter($is_its)
                    .filter($exemptions::until.is_null().or($exemptions::until.gt(Some(Instant(now))))),
            ))
        };
    }
    // Boxed: the compiler takes minutes for the type of all of it.
    let open = open.filter(settled_at.is_null()).filter(action.eq_any(calls)).filter(kind.eq_any(Kind::names()));
    let open = open.into_boxed();
    let open = open
        .filter(exempted!(exemptions, exemptions::kind.eq(kind).and(exemptions::subject_id.eq(subject_id))))
        .filter(exempted!(agent_exemptions, agent_exemptions::agent_id.nullable().eq(agent_id)))
        .filter(exempted!(tenant_exemptions, tenant_exemptions::tenant.nullable().eq(tenant)));
    let mut waiting: BTreeMap<String, BTreeMap<String, Waiting>> = BTreeMap::new();
    for (what, of_kind, subjects, oldest) in open.load::<(LossyText, LossyText, i64, Option<RawInstant>)>(db)? {
        let oldest_at = oldest.and_then(|at| at.instant());
        waiting.entry(what.0).or_default().insert(of_kind.0, Waiting { subjects, oldest_at });
    }
    Ok(waiting)
}

fn handed_over(days: &[&DaySum]) -> BTreeMap<String, i64> {
    let mut of_kinds = BTreeMap::new();
    for sum in days.iter().filter(|sum| sum.action == Action::HandOver.name()) {
        *of_kinds.entry(sum.kind.clone()).or_default() += sum.recorded;
    }
    of_kinds
}

fn outbox(db: &mut Db) -> QueryResult<Outbox> {
    use notifications::*;
    let oldest: Option<RawInstant> = waiting!().order(created_at).select(created_at).first(db).optional()?;
    let of_each = (destination, count_star());
    let is_known = || destination.eq_any(Destination::ALL.iter().map(|it| it.name()));
    let dead = notifications::table.filter(dead_at.is_not_null()).filter(is_known());
    Ok(Outbox {
        pending: by_name(waiting!().filter(is_known()).group_by(destination).select(of_each).load(db)?)?,
        dead: by_name(dead.group_by(destination).select(of_each).load(db)?)?,
        oldest_pending_at: oldest.and_then(|at| at.instant()),
    })
}

fn by_name(rows: Vec<(LossyText, i64)>) -> QueryResult<BTreeMap<String, i64>> {
    Ok(rows.into_iter().map(|(name, n)| (name.0, n)).collect())
}
