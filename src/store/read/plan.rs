//! The status of a plan, and of its steps.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use schemars::JsonSchema;
use serde::Serialize;

use crate::conclusion::usage;
use crate::rules::step::{PlanProgress, PlanStatus, Step};
use crate::rules::{Id, Kind};
use crate::store::connect::open::{Store, Url};
use crate::store::db::connection::for_each_row;
use crate::store::db::schema::{plans, step_facts, step_work_state};
use crate::store::db::types::{IsOneOf, LossyText, RawInstant};
use crate::store::hosts::links::{HostUrl, LinkTarget, Links};
use crate::store::hosts::rights::Purpose;
use crate::store::read::request::PageRequest;
use crate::store::read::subject::Age;
use crate::store::read::{BoardLimits, SCHEMA, lost_row, snapshot};
use crate::store::work::find;
use crate::store::work::woken::own_threshold;
use crate::store::{Db, Timeouts};
use crate::text::redact;

/// Steps of a plan that are listed, the first ones: a tenant may write any number.
pub const STEPS_LISTED_MAX: usize = 1000;

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
        let (name, host_url, its_timeouts) = (name.to_owned(), host_url.cloned(), *timeouts);
        url.ask(timeouts, move |url| {
            let Store { mut db, host, kinds, .. } = url.open_to(Purpose::Show)?;
            ensure!(kinds.contains(&Kind::Step), usage("plan steps: not provided by this database"));
            let links = host.links(host_url.as_ref());
            let read = snapshot(&mut db, &its_timeouts, |db| {
                let found = find::plan(db, &name)?.one("plan", &name)?;
                let threshold = stalled_after.unwrap_or(BoardLimits::read(db)?.step_stalled_after);
                PlanReport::read(db, &found.id, threshold, &links)?
                    .ok_or_else(|| usage(format!("there is no plan {} in this database", redact(&name))).into())
            });
            read.map_err(|error| url.explain(error))
        })
    }

    fn read(db: &mut Db, id: &Id, threshold: TimeDelta, links: &Links) -> QueryResult<Option<PlanReport>> {
        let now = db.now()?;
        let Some(plan) = PlanSummary::read(db, id, now, threshold)? else { return Ok(None) };
        let its_steps = step_facts::table.filter(step_facts::plan_id.eq(id));
        let its_steps = its_steps.order((step_facts::position, step_facts::subject_id)).limit(STEPS_LISTED_MAX as i64);
        let rows: Vec<PlanStepRow> = its_steps.select(PlanStepRow::as_select()).load(db)?;
        let mut states = states_of(db, &rows)?;
        let steps = rows.into_iter().map(|row| {
            let (state, detail) = states.remove(&row.id).unzip();
            // A step is shown by its title, and has no identifier on a board.
            let (tenant, identifier) = (Some(plan.tenant.as_str()), None);
            let url = links.to(&LinkTarget { kind: Kind::Step, id: &row.id, identifier, tenant, agent: None });
            let age = Age::at(Some(&row.since), now).seconds;
            StepReport {
                id: row.id,
                url,
                position: row.position,
                title: row.title.0,
                age_seconds: age.filter(|_| row.status.0 == "in_progress"),
                status: row.status.0,
                state: state.map(String::from),
                detail: detail.flatten().map(String::from),
                stalled_after_seconds: row.stalled_after_seconds,
            }
        });
        let steps = steps.collect();
        Ok(Some(PlanReport { schema: SCHEMA, plan, stalled_after_seconds: threshold.num_seconds(), steps }))
    }
}

/// Reads the status of each of these plans, as far as a list is shown.
pub fn read_summaries(
    db: &mut Db,
    ids: &[Id],
    now: DateTime<Utc>,
    threshold: TimeDelta,
) -> QueryResult<Vec<PlanSummary>> {
    let summaries = ids.iter().take(PageRequest::LIMIT).map(|id| PlanSummary::read(db, id, now, threshold));
    Ok(summaries.collect::<QueryResult<Vec<_>>>()?.into_iter().flatten().collect())
}

impl PlanSummary {
    /// None: there is no such plan.
    fn read(db: &mut Db, id: &Id, now: DateTime<Utc>, threshold: TimeDelta) -> QueryResult<Option<PlanSummary>> {
        let title = sql::<Text>("substr(title, 1, 1000)");
        let columns = (plans::id, plans::tenant, title, plans::status);
        type Row = (Id, LossyText, LossyText, LossyText);
        let row: Option<Row> = plans::table.filter(plans::id.eq(id)).select(columns).first(db).optional()?;
        let Some((id, tenant, title, stored)) = row else { return Ok(None) };
        let mut status = read_progress(db, &id, now, threshold)?.status(&stored.0);
        if let Some((_, title)) = &mut status.current_step {
            *title = current_title(db, &id)?.unwrap_or_default();
        }
        Ok(Some(PlanSummary { id, tenant: tenant.0, title: title.0, status }))
    }
}

/// Reads all steps of a plan, in their order and without their ids and titles.
fn read_progress(db: &mut Db, plan: &Id, now: DateTime<Utc>, threshold: TimeDelta) -> QueryResult<PlanProgress> {
    use step_facts::*;
    type Row = (i32, LossyText, RawInstant, Option<i32>);
    let mut progress = PlanProgress::new(now, threshold);
    let add = |row: QueryResult<Row>| {
        row.map(|(at, stored, since, seconds)| {
            // A time that cannot be read makes no step stalled.
            let since = since.instant().unwrap_or(now);
            progress.add(&Step {
                position: at,
                stalled_after: own_threshold(seconds),
                ..Step::new(Id(String::new()), &stored.0, None, since)
            });
        })
    };
    let rows = step_facts::table.filter(plan_id.eq(plan)).order((position, subject_id));
    for_each_row!(db, rows.select((position, status, idle_since, stalled_after_seconds)), Row, add)?;
    Ok(progress)
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
}

type ShownState = (LossyText, Option<LossyText>);

/// The state of each step that is in progress, and why, by the step's id.
fn states_of(db: &mut Db, steps: &[PlanStepRow]) -> QueryResult<BTreeMap<Id, ShownState>> {
    use step_work_state::*;
    let ids: Vec<Id> = steps.iter().map(|step| step.id.clone()).collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let its_steps = step_work_state::table.filter(IsOneOf::new(subject_id, &ids));
    let rows: Vec<(Id, Option<LossyText>, Option<LossyText>)> =
        its_steps.select((subject_id, state, detail)).load(db)?;
    rows.into_iter().map(|(id, its_state, why)| Ok((id, (its_state.ok_or_else(lost_row)?, why)))).collect()
}
