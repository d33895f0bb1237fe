//! The status of a plan, and of its steps: the first ones, or those around the one that matters; and the plans that are
//! open, or are called so.

use std::collections::{BTreeMap, HashMap};

use anyhow::{Result, ensure};
use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::{count_star, max, sql};
use diesel::prelude::*;
use diesel::sql_types::Text;
use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::usage;
use crate::rules::board::BoardState;
use crate::rules::step::{PlanProgress, PlanStatus, Step};
use crate::rules::{Id, Kind};
use crate::store::connect::open::{Store, Url};
use crate::store::db::connection::for_each_row;
use crate::store::db::schema::{plans, recoveries, step_facts};
use crate::store::db::types::{IsOneOf, LossyText, RawInstant};
use crate::store::hosts::links::{HostUrl, LinkTarget, Links};
use crate::store::hosts::rights::Purpose;
use crate::store::read::board::{BoardRows, PlansInProgress, states_of_steps};
use crate::store::read::request::{Inquiry, PageRequest, Scope, inquire};
use crate::store::read::subject::Age;
use crate::store::read::work_list::has_in_it;
use crate::store::read::{BoardLimits, SCHEMA, snapshot};
use crate::store::work::find;
use crate::store::work::woken::own_threshold;
use crate::store::{Db, Timeouts};
use crate::text::redact;

/// Steps of a plan that are listed, the first ones: a tenant may write any number.
pub const STEPS_LISTED_MAX: usize = 1000;

/// Which steps of a plan are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepWindow {
    /// From the first one on.
    First,
    /// Those around the first that is stalled, else around the current one.
    Around,
    /// Those behind so many.
    Behind(u64),
}

impl StepWindow {
    /// Steps that a page of a plan shows.
    pub const ROWS: u64 = 100;

    /// How many of them come before the one that matters.
    const BEFORE: u64 = 10;

    /// How many steps come before it, and how many it has.
    fn rows(self, places: &StepPlaces, total: u64) -> (u64, usize) {
        let rows = StepWindow::ROWS as usize;
        match self {
            StepWindow::First => (0, STEPS_LISTED_MAX),
            StepWindow::Around if total <= StepWindow::ROWS => (0, rows),
            StepWindow::Around => (places.of_interest().saturating_sub(StepWindow::BEFORE), rows),
            StepWindow::Behind(steps) => (steps.min(total), rows),
        }
    }
}

/// A plan and its status.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanSummary {
    /// Its id.
    pub id: Id,
    /// The tenant of the plan.
    pub tenant: String,
    /// Its title.
    pub title: String,
    #[serde(flatten)]
    pub status: PlanStatus,
}

/// A plan's status and its first steps, in their order.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct PlanReport {
    /// The version of this format. It grows only when something that is promised changes.
    #[schemars(extend("const" = SCHEMA))]
    pub schema: u32,
    #[serde(flatten)]
    pub plan: PlanSummary,
    /// A step without a threshold of its own is stalled when it has been in progress for longer, in seconds.
    pub stalled_after_seconds: i64,
    /// Its steps, in their order: the first 1,000.
    pub steps: Vec<StepReport>,
    /// How many steps come before those that were read.
    #[serde(skip)]
    pub steps_before: u64,
    /// The host of the tables.
    #[serde(skip)]
    pub host: String,
    /// When it was read, by the database's clock.
    #[serde(skip)]
    pub observed_at: DateTime<Utc>,
}

/// One step of a plan.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct StepReport {
    /// Its id.
    pub id: Id,
    /// Its page in the host's own board, as its `[links]` and `SWEEP_HOST_URL` have it; null: none is known.
    pub url: Option<String>,
    /// Its place in the plan.
    pub position: i32,
    /// Its title.
    pub title: String,
    /// Its status, as it is stored.
    pub status: String,
    /// While it is in progress and its plan is open: its state, as in the status; else null.
    pub state: Option<String>,
    /// Why, in words: for people; null as `state`.
    pub detail: Option<String>,
    /// For how long it has been in progress, in seconds; null: it is not, or its time cannot be read.
    pub age_seconds: Option<i64>,
    /// Its own threshold, else its plan's, in seconds; null: neither has one.
    pub stalled_after_seconds: Option<i32>,
    /// Its agent's id; null: it has none.
    pub agent_id: Option<Id>,
    /// Its agent's name; null as `agent_id`.
    pub agent: Option<String>,
    /// What was done about it, by sweeps or persons: each action once.
    pub tried: Vec<Tried>,
}

/// What was done about a step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Tried {
    /// As in the ledger: `continue`, `escalate` and so on.
    pub action: String,
    /// How often.
    pub times: i64,
    /// When it was done last; null: its row holds no valid time.
    pub last_at: Option<DateTime<Utc>>,
}

impl PlanReport {
    /// Connects to a database and reads the plan that is called so: by its title, or its id. `stalled_after`: else as
    /// the latest sweep had it.
    pub fn read_from(
        url: &Url,
        name: &str,
        stalled_after: Option<TimeDelta>,
        host_url: Option<&HostUrl>,
        timeouts: &Timeouts,
    ) -> Result<PlanReport> {
        PlanReport::read_window(url, (name, StepWindow::First), stalled_after, host_url, timeouts)
    }

    /// Reads some of its steps.
    pub fn read_window(
        url: &Url,
        (name, window): (&str, StepWindow),
        stalled_after: Option<TimeDelta>,
        host_url: Option<&HostUrl>,
        timeouts: &Timeouts,
    ) -> Result<PlanReport> {
        let (name, host_url, its_timeouts) = (name.to_owned(), host_url.cloned(), *timeouts);
        url.ask(timeouts, move |url| {
            let Store { mut db, host, kinds, .. } = url.open_to(Purpose::Show)?;
            ensure!(kinds.contains(&Kind::Step), usage("plan steps: not provided by this database"));
            let links = host.links(host_url.as_ref());
            let read = snapshot(&mut db, &its_timeouts, |db| {
                let found = find::plan(db, &name)?.one("plan", &name)?;
                let threshold = stalled_after.unwrap_or(BoardLimits::read(db)?.step_stalled_after);
                let read = PlanReport::read(db, &found.id, window, threshold, &links)?;
                read.ok_or_else(|| usage(format!("there is no plan {} in this database", redact(&name))).into())
            });
            let read = read.map_err(|error| url.explain(error))?;
            Ok(PlanReport { host: host.name().to_owned(), ..read })
        })
    }

    fn read(
        db: &mut Db,
        id: &Id,
        window: StepWindow,
        threshold: TimeDelta,
        links: &Links,
    ) -> QueryResult<Option<PlanReport>> {
        let now = db.now()?;
        let Some((plan, places)) = PlanSummary::read(db, id, now, threshold)? else { return Ok(None) };
        let (steps_before, rows) = window.rows(&places, plan.status.step_counts.total);
        let rows = steps_of(db, id, steps_before, rows)?;
        let ids: Vec<Id> = rows.iter().map(|row| row.id.clone()).collect();
        let at_work: Vec<Id> =
            rows.iter().filter(|row| row.status.0 == "in_progress").map(|row| row.id.clone()).collect();
        let (mut states, mut tried) = (states_of_steps(db, id, &at_work)?, tried_of(db, &ids)?);
        let steps = rows.into_iter().map(|row| {
            let (state, detail) = states.remove(&row.id).unzip();
            // A step is shown by its title, and has no identifier on a board.
            let (tenant, identifier) = (Some(plan.tenant.as_str()), None);
            let url = links.to(&LinkTarget { kind: Kind::Step, id: &row.id, identifier, tenant, agent: None });
            let age = Age::at(Some(&row.since), now).seconds;
            StepReport {
                tried: tried.remove(&row.id).unwrap_or_default(),
                id: row.id,
                url,
                position: row.position,
                title: row.title.0,
                age_seconds: age.filter(|_| row.status.0 == "in_progress"),
                status: row.status.0,
                state,
                detail: detail.flatten(),
                stalled_after_seconds: row.stalled_after_seconds,
                agent_id: row.agent_id,
                agent: row.agent_name.map(String::from),
            }
        });
        let steps = steps.collect();
        Ok(Some(PlanReport {
            schema: SCHEMA,
            plan,
            stalled_after_seconds: threshold.num_seconds(),
            steps,
            steps_before,
            host: String::new(),
            observed_at: now,
        }))
    }
}

/// Reads the status of each of these plans.
pub fn read_summaries(db: &mut Db, ids: &[Id], inquiry: &Inquiry) -> QueryResult<Vec<PlanSummary>> {
    let threshold = inquiry.limits.step_stalled_after;
    let summaries = ids.iter().map(|id| Ok(PlanSummary::read(db, id, inquiry.now, threshold)?.map(|(plan, _)| plan)));
    Ok(summaries.collect::<QueryResult<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Where the steps of a plan are of which one wants to know: how many come before each.
#[derive(Default)]
struct StepPlaces {
    stalled: Option<u64>,
    in_progress: Option<u64>,
    pending: Option<u64>,
}

impl StepPlaces {
    fn of_interest(&self) -> u64 {
        self.stalled.or(self.in_progress).or(self.pending).unwrap_or_default()
    }
}

impl PlanSummary {
    /// None: there is no such plan.
    fn read(
        db: &mut Db,
        id: &Id,
        now: DateTime<Utc>,
        threshold: TimeDelta,
    ) -> QueryResult<Option<(PlanSummary, StepPlaces)>> {
        let title = sql::<Text>("substr(title, 1, 1000)");
        let columns = (plans::id, plans::tenant, title, plans::status);
        type Row = (Id, LossyText, LossyText, LossyText);
        let row: Option<Row> = plans::table.filter(plans::id.eq(id)).select(columns).first(db).optional()?;
        let Some((id, tenant, title, stored)) = row else { return Ok(None) };
        let (progress, places) = read_progress(db, &id, now, threshold)?;
        let mut status = progress.status(&stored.0);
        if let Some((_, title)) = &mut status.current_step {
            *title = current_title(db, &id)?.unwrap_or_default();
        }
        Ok(Some((PlanSummary { id, tenant: tenant.0, title: title.0, status }, places)))
    }
}

/// Reads all steps of a plan, in their order and without their ids and titles.
fn read_progress(
    db: &mut Db,
    plan: &Id,
    now: DateTime<Utc>,
    threshold: TimeDelta,
) -> QueryResult<(PlanProgress, StepPlaces)> {
    use step_facts::*;
    type Row = (i32, LossyText, RawInstant, Option<i32>);
    let (mut progress, mut places, mut before) = (PlanProgress::new(now, threshold), StepPlaces::default(), 0);
    let add = |row: QueryResult<Row>| {
        row.map(|(at, stored, since, seconds)| {
            // A time that cannot be read makes no step stalled.
            let since = since.instant().unwrap_or(now);
            let step = Step {
                position: at,
                stalled_after: own_threshold(seconds),
                ..Step::new(Id(String::new()), &stored.0, None, since)
            };
            let place = match step.status.as_str() {
                "in_progress" if step.is_stalled(now, threshold) => &mut places.stalled,
                "in_progress" => &mut places.in_progress,
                _ => &mut places.pending,
            };
            if !matches!(step.status.as_str(), "completed" | "skipped" | "failed") {
                place.get_or_insert(before);
            }
            before += 1;
            progress.add(&step);
        })
    };
    let rows = step_facts::table.filter(plan_id.eq(plan)).order((position, subject_id));
    for_each_row!(db, rows.select((position, status, idle_since, stalled_after_seconds)), Row, add)?;
    Ok((progress, places))
}

/// What the step is called at which the plan is: the first in progress, else the first that is pending.
fn current_title(db: &mut Db, plan: &Id) -> QueryResult<Option<String>> {
    use step_facts::*;
    for state in ["in_progress", "pending"] {
        let its_steps = step_facts::table.filter(plan_id.eq(plan)).filter(status.eq(state));
        let first = its_steps.order((position, subject_id)).select(title).first::<LossyText>(db).optional()?;
        if first.is_some() {
            return Ok(first.map(LossyText::into));
        }
    }
    Ok(None)
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = step_facts)]
struct PlanStepRow {
    #[diesel(column_name = subject_id)]
    id: Id,
    position: i32,
    title: LossyText,
    status: LossyText,
    #[diesel(column_name = idle_since)]
    since: RawInstant,
    stalled_after_seconds: Option<i32>,
    agent_id: Option<Id>,
    agent_name: Option<LossyText>,
}

/// The steps of a plan behind so many, in their order. Which they are is asked first: what is known of those before
/// them is not looked at.
fn steps_of(db: &mut Db, plan: &Id, before: u64, rows_max: usize) -> QueryResult<Vec<PlanStepRow>> {
    use step_facts::*;
    let its_steps = step_facts::table.filter(plan_id.eq(plan)).order((position, subject_id));
    let (before, rows_max) = (i64::try_from(before).unwrap_or(i64::MAX), rows_max as i64);
    let ids: Vec<Id> = its_steps.select(subject_id).offset(before).limit(rows_max).load(db)?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let listed = step_facts::table.filter(IsOneOf::new(subject_id, &ids)).select(PlanStepRow::as_select());
    let mut rows: Vec<PlanStepRow> = listed.load(db)?;
    let places: HashMap<&Id, usize> = ids.iter().enumerate().map(|(place, id)| (id, place)).collect();
    rows.sort_by_key(|row| places.get(&row.id).copied());
    Ok(rows)
}

/// What was done about each step, by the step's id: each action with how often and when last.
fn tried_of(db: &mut Db, steps: &[Id]) -> QueryResult<BTreeMap<Id, Vec<Tried>>> {
    use recoveries::*;
    let mut tried = BTreeMap::<Id, Vec<Tried>>::new();
    if steps.is_empty() {
        return Ok(tried);
    }
    let of_steps = recoveries::table.filter(kind.eq(Kind::Step.name())).filter(IsOneOf::new(subject_id, steps));
    let counted = of_steps.group_by((subject_id, action)).order((max(created_at), action));
    let rows: Vec<(Id, LossyText, i64, Option<RawInstant>)> =
        counted.select((subject_id, action, count_star(), max(created_at))).load(db)?;
    for (step, its_action, times, last_at) in rows {
        let last_at = last_at.and_then(|at| at.instant());
        tried.entry(step).or_default().push(Tried { action: its_action.0, times, last_at });
    }
    Ok(tried)
}

/// Plans: those that have steps in progress, the longest stuck first; or those that are called so.
#[derive(Clone, Debug)]
pub struct PlanList {
    pub host: String,
    pub observed_at: DateTime<Utc>,
    /// Whether the database has plans.
    pub provided: bool,
    pub plans: Vec<PlanSummary>,
    /// How many have a stalled step, of those with steps in progress; none: plans were searched by name.
    pub totals: Option<PlanTotals>,
    /// Behind which plan a search can go on; none: it has come to the end.
    pub next: Option<Id>,
}

/// How many plans have steps in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlanTotals {
    pub in_progress: i64,
    pub stuck: i64,
}

/// How many plans a search looks at, and how many it lists.
pub const PLANS_SEARCHED_MAX: i64 = 2000;
const PLANS_LISTED_MAX: usize = 50;

impl PlanList {
    /// Connects to a database and reads its plans: those of this name, behind this one.
    pub fn read_from(url: &Url, (name, after): (Option<&str>, Option<&str>), timeouts: &Timeouts) -> Result<PlanList> {
        let (name, after) = (name.map(str::to_owned), after.map(str::to_owned));
        let its_timeouts = *timeouts;
        url.ask(timeouts, move |url| {
            let mut store = url.open_to(Purpose::Show)?;
            let host = store.host.name().to_owned();
            let all = (&Scope::default(), &PageRequest::FIRST);
            let read = inquire(&mut store, all, None, &its_timeouts, |db, inquiry| {
                let provided = inquiry.kinds.contains(&Kind::Step);
                let mut list =
                    PlanList { host, observed_at: inquiry.now, provided, plans: vec![], totals: None, next: None };
                let (ids, next, totals) = match (&name, provided) {
                    (_, false) => (vec![], None, None),
                    (Some(name), true) => {
                        let (ids, next) = plans_called(db, name, after.and_then(|id| inquiry.id_type.parse(&id)))?;
                        (ids, next, None)
                    }
                    (None, true) => {
                        let steps = &Inquiry { kinds: &[Kind::Step], ..*inquiry };
                        let PlansInProgress { stuck, others } =
                            BoardRows::read(db, steps, &[BoardState::Stalled], 0)?.plans;
                        let totals = PlanTotals { in_progress: stuck.1 + others.1, stuck: stuck.1 };
                        (stuck.0.into_iter().chain(others.0).take(PLANS_LISTED_MAX).collect(), None, Some(totals))
                    }
                };
                (list.plans, list.next, list.totals) = (read_summaries(db, &ids, inquiry)?, next, totals);
                Ok(list)
            });
            read.map_err(|error| url.explain(error))
        })
    }
}

/// The plans whose titles have this in them, of a bounded number behind one; and from where on others may have it.
fn plans_called(db: &mut Db, name: &str, after: Option<Id>) -> QueryResult<(Vec<Id>, Option<Id>)> {
    use plans::*;
    let all = plans::table.order(id).limit(PLANS_SEARCHED_MAX).into_boxed();
    let later = match after {
        Some(after) => all.filter(id.gt(after)),
        None => all,
    };
    let rows: Vec<(Id, LossyText)> = later.select((id, sql::<Text>("substr(title, 1, 1000)"))).load(db)?;
    let last = rows.last().filter(|_| PLANS_SEARCHED_MAX <= rows.len() as i64).map(|(last, _)| last.clone());
    let called = rows.into_iter().filter(|(_, its_title)| has_in_it(Some(&its_title.0), name));
    let mut found: Vec<Id> = called.map(|(its_id, _)| its_id).take(PLANS_LISTED_MAX + 1).collect();
    let is_more = PLANS_LISTED_MAX < found.len();
    found.truncate(PLANS_LISTED_MAX);
    let next = if is_more { found.last().cloned() } else { last };
    Ok((found, next))
}
