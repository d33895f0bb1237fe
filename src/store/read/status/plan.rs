//! Plans as a status call shows them.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::Serialize;

use super::limits::{ROWS_MAX, SCHEMA, lost_row};
use crate::rules::Id;
use crate::rules::step::{PlanProgress, PlanStatus, Step};
use crate::store::Db;
use crate::store::db::connection::for_each_row;
use crate::store::db::schema::{plans, step_facts, step_work_state};
use crate::store::db::types::{IsOneOf, LossyText, RawInstant};
use crate::store::work::steps::stalled_after;

/// Steps of a plan that are listed, the first ones: a tenant may write any number.
pub const STEPS_LISTED_MAX: usize = 1000;

/// A plan and its status; the fields are those of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct PlanSummary {
    pub id: Id,
    pub tenant: String,
    pub title: String,
    #[serde(flatten)]
    pub status: PlanStatus,
}

/// A plan's status and its first steps, in their order.
#[derive(Clone, Debug, Serialize)]
pub struct PlanReport {
    pub schema: u32,
    #[serde(flatten)]
    pub plan: PlanSummary,
    pub stalled_after_seconds: i64,
    pub steps: Vec<StepReport>,
}

/// One step of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    pub id: Id,
    /// Its page in the host's own board.
    pub url: Option<String>,
    pub position: i32,
    pub title: String,
    /// As stored.
    pub status: String,
    /// In the words of the view, while it is in progress and its plan is open; and why.
    pub state: Option<String>,
    pub detail: Option<String>,
    /// For how long it has been in progress; null when it is not, or its time cannot be read.
    pub age_seconds: Option<i64>,
    /// Its own threshold, else its plan's.
    pub stalled_after_seconds: Option<i32>,
}

/// The status of each of these plans.
pub fn stalled(db: &mut Db, ids: &[Id], now: DateTime<Utc>, threshold: TimeDelta) -> QueryResult<Vec<PlanSummary>> {
    let mut found = Vec::new();
    for id in ids.iter().take(ROWS_MAX as usize) {
        found.extend(summary(db, id, now, threshold)?);
    }
    Ok(found)
}

pub fn report(db: &mut Db, id: &Id, now: DateTime<Utc>, threshold: TimeDelta) -> QueryResult<Option<PlanReport>> {
    let Some(plan) = summary(db, id, now, threshold)? else { return Ok(None) };
    let rows = listed(db, id)?;
    let ids: Vec<Id> = rows.iter().map(|row| row.id.clone()).collect();
    let its_steps = step_work_state::table.filter(IsOneOf::new(step_work_state::subject_id, &ids));
    let columns = (step_work_state::subject_id, step_work_state::state, step_work_state::detail);
    let states: Vec<(Id, Option<LossyText>, Option<LossyText>)> =
        if ids.is_empty() { Vec::new() } else { its_steps.select(columns).load(db)? };
    let states = states.into_iter().map(|(id, state, detail)| Ok((id, (state.ok_or_else(lost_row)?, detail))));
    let mut states: BTreeMap<Id, (LossyText, Option<LossyText>)> = states.collect::<QueryResult<_>>()?;
    let steps = rows.into_iter().map(|row| {
        let (state, detail) = states.remove(&row.id).unzip();
        row.report(state, detail.flatten(), now)
    });
    let steps = steps.collect();
    Ok(Some(PlanReport { schema: SCHEMA, plan, stalled_after_seconds: threshold.num_seconds(), steps }))
}

#[derive(Queryable)]
struct PlanRow {
    id: Id,
    tenant: LossyText,
    title: LossyText,
    status: LossyText,
}

fn summary(db: &mut Db, id: &Id, now: DateTime<Utc>, threshold: TimeDelta) -> QueryResult<Option<PlanSummary>> {
    let title = sql::<Text>("substr(title, 1, 1000)");
    let columns = (plans::id, plans::tenant, title, plans::status);
    let row: Option<PlanRow> = plans::table.filter(plans::id.eq(id)).select(columns).first(db).optional()?;
    let Some(row) = row else { return Ok(None) };
    let mut status = progress(db, id, now, threshold)?.status(&row.status.0);
    if let Some((_, title)) = &mut status.current_step {
        *title = current_title(db, id)?.unwrap_or_default();
    }
    Ok(Some(PlanSummary { id: row.id, tenant: row.tenant.0, title: row.title.0, status }))
}

/// Reads all steps of a plan, in their order and without their ids and titles.
fn progress(db: &mut Db, plan: &Id, now: DateTime<Utc>, threshold: TimeDelta) -> QueryResult<PlanProgress> {
    use step_facts::*;
    type Row = (i32, LossyText, RawInstant, Option<i32>);
    let mut progress = PlanProgress::new(now, threshold);
    let add = |row: QueryResult<Row>| {
        row.map(|(at, stored, since, seconds)| {
            progress.add(&Step {
                id: Id(String::new()),
                position: at,
                title: String::new(),
                status: stored.0,
                // One that cannot be read makes no step stalled.
                since: since.instant().unwrap_or(now),
                stalled_after: stalled_after(seconds),
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

#[derive(Queryable)]
struct StepRow {
    id: Id,
    position: i32,
    title: LossyText,
    status: LossyText,
    since: RawInstant,
    stalled_after_seconds: Option<i32>,
}

fn listed(db: &mut Db, plan: &Id) -> QueryResult<Vec<StepRow>> {
    use step_facts::*;
    let columns = (subject_id, position, title, status, idle_since, stalled_after_seconds);
    let its_steps = step_facts::table.filter(plan_id.eq(plan)).order((position, subject_id));
    its_steps.limit(STEPS_LISTED_MAX as i64).select(columns).load(db)
}

impl StepRow {
    fn report(self, state: Option<LossyText>, detail: Option<LossyText>, now: DateTime<Utc>) -> StepReport {
        let (_, age) = self.since.with_age(now);
        StepReport {
            id: self.id,
            url: None,
            position: self.position,
            title: self.title.0,
            age_seconds: age.filter(|_| self.status.0 == "in_progress"),
            status: self.status.0,
            state: state.map(|text| text.0),
            detail: detail.map(|text| text.0),
            stalled_after_seconds: self.stalled_after_seconds,
        }
    }
}
