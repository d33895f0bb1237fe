//! The upkeep of sweep's own tables, which sweeps do at their end: the ledger is summed, and what is over is removed.
//! Each step is one small transaction with a bounded number of rows; a task that another sweep does at this moment is
//! left to it.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Nullable, Text};

use crate::rules::After;
use crate::store::Db;
use crate::store::db::dialect::Dialect;
use crate::store::db::schema::upkeep;
use crate::store::db::types::{Instant, RawInstant, sql as types};
use crate::store::work::history::{self, HistoryLook, StepDone};

/// One part of the upkeep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum UpkeepTask {
    /// Sums what the ledger has recorded.
    SumRows,
    /// Adds the reports that false rescues had within six hours.
    SumEarlyReports,
    /// Adds the reports that came later.
    SumLateReports,
    RemoveRecoveries,
    RemoveSweeps,
    RemoveNotifications,
}

impl UpkeepTask {
    pub const ALL: &[UpkeepTask] = <UpkeepTask as strum::VariantArray>::VARIANTS;

    fn name(self) -> &'static str {
        self.into()
    }
}

/// How often each task is looked at. What is due later than that was written by a clock that was ahead.
pub(in crate::store) const INTERVAL: TimeDelta = TimeDelta::hours(1);

/// The tasks that are due.
macro_rules! due {
    ($now:expr) => {{
        use $crate::store::db::schema::upkeep::{due_at, table};
        use $crate::store::work::upkeep::INTERVAL;
        table.filter(due_at.le(Instant($now)).or(due_at.gt(Instant($now + INTERVAL))))
    }};
}
pub(in crate::store) use due;

pub fn due_tasks(db: &mut Db) -> QueryResult<Vec<UpkeepTask>> {
    let now = db.now()?;
    let names: Vec<String> = due!(now).select(upkeep::task).load(db)?;
    Ok(UpkeepTask::ALL.iter().copied().filter(|task| names.iter().any(|name| name == task.name())).collect())
}

/// Does the next part of a task, and says whether there is more of it. If another sweep does the task now, there is
/// nothing to do here.
pub fn step(db: &mut Db, task: UpkeepTask, keep: After) -> QueryResult<bool> {
    let now = db.now()?;
    let locked = db.dialect().either(" FOR UPDATE SKIP LOCKED", "");
    let taken = sql::<(types::Moment, types::Moment)>("SELECT until, began_at FROM upkeep WHERE task = ");
    let taken = taken.bind::<Text, _>(task.name()).sql(locked);
    let Some(taken) = taken.get_result::<(RawInstant, RawInstant)>(db).optional()? else { return Ok(false) };
    let [until, began_at] = [taken.0, taken.1].map(|at| at.instant().unwrap_or_default());
    let StepDone { until, due_at, begins_anew } = match task {
        UpkeepTask::SumRows => history::sum(db, HistoryLook::FIRST, until, now),
        UpkeepTask::SumEarlyReports => history::sum(db, HistoryLook::SECOND, until, now),
        UpkeepTask::SumLateReports => history::sum(db, HistoryLook::LAST, until, now),
        UpkeepTask::RemoveRecoveries => remove(db, ("recoveries", "created_at"), keep, [until, began_at, now]),
        UpkeepTask::RemoveSweeps => remove(db, ("sweeps", "started_at"), keep, [until, began_at, now]),
        UpkeepTask::RemoveNotifications => remove(db, ("notifications", "created_at"), keep, [until, began_at, now]),
    }?;
    let (began_at, due_at) = (if begins_anew { now } else { began_at }, due_at.min(now + INTERVAL));
    let done =
        (upkeep::until.eq(Instant(until)), upkeep::began_at.eq(Instant(began_at)), upkeep::due_at.eq(Instant(due_at)));
    diesel::update(upkeep::table.find(task.name())).set(done).execute(db)?;
    Ok(due_at <= now)
}

/// The rows that are looked at in one step.
const STEP: i64 = 1_000;

/// The age from which on one sweep an hour is enough, of those that found nothing to do.
const YOUNG_SWEEP: TimeDelta = TimeDelta::days(1);

/// How often rows that were not over are looked at again.
const ANEW: TimeDelta = TimeDelta::days(1);

/// Removes those of the next rows that are over, and have been so for long enough. The views `..._over` say what is.
fn remove(
    db: &mut Db,
    (relation, at): (&str, &str),
    keep: After,
    [after, began_at, now]: [DateTime<Utc>; 3],
) -> QueryResult<StepDone> {
    let After::Time(keep) = keep else {
        return Ok(StepDone { until: after, due_at: now + INTERVAL, begins_anew: false });
    };
    let old = if relation == "sweeps" { keep.min(YOUNG_SWEEP) } else { keep };
    let next = format!("SELECT {at} AS at FROM {relation} WHERE {at} > ");
    let next = sql::<Nullable<types::Moment>>(&format!("SELECT max(at) FROM ({next}"))
        .bind::<types::Moment, _>(Instant(after));
    let next = next.sql(&format!(" AND {at} < ")).bind::<types::Moment, _>(Instant(now - old));
    let until: Option<RawInstant> = next.sql(&format!(" ORDER BY {at} LIMIT {STEP}) next")).get_result(db)?;
    let Some(until) = until.and_then(|until| until.instant()) else {
        let begins_anew = began_at < now - ANEW || now < began_at;
        let until = if begins_anew { DateTime::UNIX_EPOCH } else { after };
        return Ok(StepDone { until, due_at: if begins_anew { now } else { now + INTERVAL }, begins_anew });
    };
    let removal = match db.dialect() {
        Dialect::Postgres => format!("SELECT remove_over('{relation}', "),
        Dialect::Sqlite => format!("DELETE FROM {relation} WHERE id IN (SELECT id FROM {relation}_over WHERE at > "),
    };
    let [and_until, and_before] = db.dialect().either([", ", ", "], [" AND at <= ", " AND over_since < "]);
    let removal = diesel::sql_query(removal + "$1" + and_until + "$2" + and_before + "$3)");
    let removal = removal.bind::<types::Moment, _>(Instant(after)).bind::<types::Moment, _>(Instant(until));
    removal.bind::<types::Moment, _>(Instant(now - keep)).execute(db)?;
    Ok(StepDone { until, due_at: now, begins_anew: false })
}
