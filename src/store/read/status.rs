//! How the work stands and how well sweep does, as the views have it: read in one snapshot, and nothing is written.
//!
//! Every column is read whatever it holds: a row that is broken is shown as far as it goes, and costs the others
//! nothing.

mod limits;
mod links;
mod plan;
mod swept;
mod undelivered;
mod work;

use std::collections::BTreeMap;

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::conclusion::usage;
use crate::rules::{Id, Kind};
use crate::store::connect::open::{Store, Url};
use crate::store::db::after::After;
use crate::store::db::errors::Refused;
use crate::store::db::types::age_seconds;
use crate::store::hosts::links::HostUrl;
use crate::store::hosts::rights::Purpose;
use crate::store::read::latest;
use crate::store::work::find;
use crate::store::work::wakes::{self, StuckWake, Wanted};
use crate::store::{Access, Db, DbConnection, Timeouts, has_any};
use crate::text::redact;
pub(in crate::store) use limits::Limits;
pub use limits::ROWS_MAX;
use limits::SCHEMA;
pub(in crate::store) use limits::lost_row;
pub use plan::{PlanReport, PlanSummary, STEPS_LISTED_MAX, StepReport};
pub use swept::{Effect, Exemptions, Quarantined, SweepSummary};
pub(in crate::store) use swept::{false_rescues, latest};
pub(in crate::store) use undelivered::failing_from;
pub use undelivered::{LATE, Notifications, Undelivered};
pub use work::{Counts, WorkItem};

/// The fields are those of the JSON.
#[derive(Debug, Serialize)]
pub struct Status {
    pub schema: u32,
    pub host: String,
    /// Only this one's work; sweeps, exemptions and effect are everybody's.
    pub tenant: Option<String>,
    /// The database's clock.
    pub observed_at: DateTime<Utc>,
    pub wake_stuck_after_seconds: i64,
    /// There is no subject at all.
    pub empty: bool,
    /// By the kind's plural.
    pub kinds: BTreeMap<&'static str, Counts>,
    /// Orphaned issues and stalled steps.
    pub orphans: Vec<WorkItem>,
    pub orphans_total: i64,
    /// A person has been notified and has not answered.
    pub escalations: Vec<WorkItem>,
    pub escalations_total: i64,
    /// Those with a stalled step.
    pub plans: Vec<PlanSummary>,
    /// Their agent is gone, terminated or paused for long, and people were notified of it.
    pub abandoned: Vec<WorkItem>,
    pub abandoned_total: i64,
    pub stuck_wakes: Vec<StuckWake>,
    pub stuck_wakes_total: i64,
    /// Some are stuck, and none at all was taken up for as long.
    pub no_wake_is_taken: bool,
    pub quarantined: Vec<Quarantined>,
    pub quarantined_total: i64,
    pub exemptions: Exemptions,
    pub notifications: Notifications,
    /// The last ones, the latest first.
    pub sweeps: Vec<SweepSummary>,
    /// The end of the latest sweep of everything that did all it had to.
    pub last_success_at: Option<DateTime<Utc>>,
    pub last_success_age_seconds: Option<i64>,
    pub effect: Effect,
}

/// Opens a database and reads its whole status, or what of it is this tenant's; a tenant to whom nothing belongs is
/// refused.
pub fn of_database(url: &Url, tenant: Option<&str>, host_url: Option<&HostUrl>, timeouts: &Timeouts) -> Result<Status> {
    let (tenant, host_url, its_timeouts) = (tenant.map(str::to_owned), host_url.cloned(), *timeouts);
    url.ask(timeouts, move |url| {
        let (mut store, tenant) = (url.open_to(Purpose::Show)?, tenant.as_deref());
        if let Some(tenant) = tenant {
            let Store { db, kinds, .. } = &mut store;
            db.in_transaction(Access::ReadOnly, &its_timeouts, |db| find::tenant(db, kinds, tenant))
                .map_err(|abort| url.explain(abort.into()))?;
        }
        let links = store.host.links(host_url.as_ref());
        let status = read(&mut store, tenant, &its_timeouts).map_err(|error| url.explain(error))?;
        Ok(status.with_links(&links))
    })
}

/// Opens a database and reads the status of the one plan that is called so: by its title, or its id. `stalled_after`:
/// else as the latest sweep had it.
pub fn of_plan(
    url: &Url,
    name: &str,
    stalled_after: Option<TimeDelta>,
    host_url: Option<&HostUrl>,
    timeouts: &Timeouts,
) -> Result<PlanReport> {
    let (name, host_url, its_timeouts) = (name.to_owned(), host_url.cloned(), *timeouts);
    url.ask(timeouts, move |url| {
        let mut store = url.open_to(Purpose::Show)?;
        let links = store.host.links(host_url.as_ref());
        let plan = named_plan(&mut store, &name, stalled_after, &its_timeouts).map_err(|error| url.explain(error))?;
        Ok(plan.with_links(&links))
    })
}

fn named_plan(
    store: &mut Store,
    name: &str,
    stalled_after: Option<TimeDelta>,
    timeouts: &Timeouts,
) -> Result<PlanReport> {
    if !store.kinds.contains(&Kind::Step) {
        return Err(usage("plan steps: not provided by this database").into());
    }
    let found = store.db.in_transaction(Access::ReadOnly, timeouts, |db| find::plan(db, name))?;
    let plan = read_plan(store, &found.one("plan", name)?.id, stalled_after, timeouts)?;
    plan.ok_or_else(|| usage(format!("there is no plan {} in this database", redact(name))).into())
}

/// Reads the whole status.
pub fn read(store: &mut Store, tenant: Option<&str>, timeouts: &Timeouts) -> Result<Status> {
    let Store { db, host, kinds, .. } = store;
    snapshot(db, timeouts, |db| {
        let now = db.now()?;
        let limits = Limits::read(db)?;
        let mut lists = work::Lists::default();
        for &kind in Kind::ALL {
            lists.read(db, kind, kinds.contains(&kind), tenant, now)?;
        }
        let plans = plan::stalled(db, &lists.plans_with_stalled_steps(), now, limits.step_stalled_after)?;
        let (orphans, orphans_total) = lists.orphans.oldest();
        let (escalations, escalations_total) = lists.escalations.oldest();
        let (abandoned, abandoned_total) = lists.abandoned.oldest();
        let wanted = Wanted { tenant, agent: None, after: limits.wake_stuck_after, now };
        let stuck = wakes::stuck(db, &wanted)?;
        let stuck_wakes = wakes::oldest(db, &wanted, &After::Nothing, ROWS_MAX)?;
        let (quarantined, quarantined_total) = swept::quarantined(db, kinds, tenant, now)?;
        let last_success_at = latest::success(db, now)?;
        Ok(Status {
            schema: SCHEMA,
            host: host.name().to_owned(),
            tenant: tenant.map(str::to_owned),
            observed_at: now,
            wake_stuck_after_seconds: limits.wake_stuck_after.num_seconds(),
            empty: !has_any(db, kinds, None)?,
            kinds: lists.counts,
            orphans,
            orphans_total,
            escalations,
            escalations_total,
            plans,
            abandoned,
            abandoned_total,
            stuck_wakes,
            stuck_wakes_total: stuck.count,
            no_wake_is_taken: stuck.none_is_taken,
            quarantined,
            quarantined_total,
            exemptions: swept::exemptions(db, now)?,
            notifications: undelivered::notifications(db, now)?,
            sweeps: swept::latest(db)?,
            last_success_at,
            last_success_age_seconds: last_success_at.map(|at| age_seconds(at, now)),
            effect: swept::effect(db, now)?,
        })
    })
}

/// Reads the status of one plan; none when there is no such plan. `stalled_after`: else as the latest sweep had it.
pub fn read_plan(
    store: &mut Store,
    id: &Id,
    stalled_after: Option<TimeDelta>,
    timeouts: &Timeouts,
) -> Result<Option<PlanReport>> {
    snapshot(&mut store.db, timeouts, |db| {
        let (now, limits) = (db.now()?, Limits::read(db)?);
        Ok(plan::report(db, id, now, stalled_after.unwrap_or(limits.step_stalled_after))?)
    })
}

/// A refusal is a person's to read as it is; an error says what it was met at.
pub(in crate::store) fn snapshot<T>(
    db: &mut DbConnection,
    timeouts: &Timeouts,
    read: impl FnOnce(&mut Db) -> Result<T, Refused>,
) -> Result<T> {
    db.in_transaction(Access::ReadOnly, timeouts, read).map_err(|abort| match abort.error() {
        Refused::Request(refusal) => refusal.into(),
        Refused::Query(error) => anyhow::Error::from(error).context("reading how the work stands"),
    })
}
