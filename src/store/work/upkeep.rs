//! The upkeep of sweep's own tables, which each sweep of everything does at its end: the ledger is summed. Each step is
//! one small transaction with a bounded number of rows; a task that another sweep does at this moment is left to it.

use chrono::TimeDelta;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::store::Db;
use crate::store::db::schema::upkeep;
use crate::store::db::types::{Instant, RawInstant, sql as types};
use crate::store::work::history::{self, Done, Look};

/// One part of the upkeep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Task {
    /// Sums what the ledger has recorded.
    SumRows,
    /// Adds the reports that false rescues had within six hours.
    SumEarlyReports,
    /// Adds the reports that came later.
    SumLateReports,
}

impl Task {
    pub const ALL: &[Task] = <Task as strum::VariantArray>::VARIANTS;

    fn name(self) -> &'static str {
        self.into()
    }
}

/// Nothing is due later than this; what says so was written by a clock that was ahead.
pub(in crate::store) const LATEST: TimeDelta = TimeDelta::hours(25);

/// The tasks that are due.
macro_rules! due {
    ($now:expr) => {{
        use $crate::store::db::schema::upkeep::{due_at, table};
        use $crate::store::work::upkeep::LATEST;
        table.filter(due_at.le(Instant($now)).or(due_at.gt(Instant($now + LATEST))))
    }};
}
pub(in crate::store) use due;

pub fn due_tasks(db: &mut Db) -> QueryResult<Vec<Task>> {
    let now = db.now()?;
    let names: Vec<String> = due!(now).select(upkeep::task).load(db)?;
    Ok(Task::ALL.iter().copied().filter(|task| names.iter().any(|name| name == task.name())).collect())
}

/// Does the next part of a task, and says whether there is more of it. If another sweep does the task now, there is
/// nothing to do here.
pub fn step(db: &mut Db, task: Task) -> QueryResult<bool> {
    let now = db.now()?;
    let locked = db.dialect().either(" FOR UPDATE SKIP LOCKED", "");
    let taken = sql::<types::Moment>("SELECT until FROM upkeep WHERE task = ").bind::<Text, _>(task.name());
    let until: Option<RawInstant> = taken.sql(locked).get_result(db).optional()?;
    let Some(until) = until.and_then(|until| until.instant()) else { return Ok(false) };
    let Done { until, due_at } = match task {
        Task::SumRows => history::sum(db, Look::FIRST, until, now),
        Task::SumEarlyReports => history::sum(db, Look::SECOND, until, now),
        Task::SumLateReports => history::sum(db, Look::LAST, until, now),
    }?;
    let done = (upkeep::until.eq(Instant(until)), upkeep::due_at.eq(Instant(due_at)));
    diesel::update(upkeep::table.find(task.name())).set(done).execute(db)?;
    Ok(due_at <= now)
}
