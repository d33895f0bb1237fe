//! What people and programs are shown of a database: each answer is read in one snapshot, and nothing is written.

mod board;
mod counts;
mod effect;
pub mod installation;
mod items;
mod kept;
pub mod metrics;
mod next_sweep;
pub mod overview;
pub mod plan;
mod request;
mod sources;
mod subject;
mod sweeper;
pub mod work_list;

use anyhow::Result;
use chrono::TimeDelta;
use diesel::prelude::*;
use diesel::result::Error;

use crate::store::db::errors::Refused;
use crate::store::db::schema::policy;
use crate::store::{Access, Db, DbConnection, Timeouts};

/// The version of the JSON of everything that is read here.
pub const SCHEMA: u32 = 1;

/// Reads in one snapshot. A refusal is a person's to read as it is; an error of the database says what was read.
pub fn snapshot<T>(
    db: &mut DbConnection,
    timeouts: &Timeouts,
    read: impl FnOnce(&mut Db) -> Result<T, Refused>,
) -> Result<T> {
    db.in_transaction(Access::ReadOnly, timeouts, read).map_err(|abort| match abort.error() {
        Refused::Request(refusal) => refusal.into(),
        Refused::Query(error) => anyhow::Error::from(error).context("reading how the work stands"),
    })
}

/// What the latest sweep of everything called too long, else the defaults.
pub struct BoardLimits {
    pub step_stalled_after: TimeDelta,
    pub wake_stuck_after: TimeDelta,
    pub run_silent_after: TimeDelta,
}

const LOST_ROW: &str = "the table policy has lost its row, or what it says of the rules: `sweep migrate` and the next \
    sweep of everything write it";

/// The error of a board whose views have no state for a subject in progress, since the table `policy` has no row.
pub fn lost_row() -> Error {
    Error::DeserializationError(LOST_ROW.into())
}

impl BoardLimits {
    pub fn read(db: &mut Db) -> QueryResult<BoardLimits> {
        use policy::{run_silent_after_seconds, step_stalled_after_seconds, wake_stuck_after_seconds};
        let columns = (step_stalled_after_seconds, wake_stuck_after_seconds, run_silent_after_seconds);
        let row = policy::table.select(columns).first::<(f64, f64, f64)>(db).optional()?;
        let (step, wake, run) = row.ok_or_else(lost_row)?;
        let duration = |seconds: f64| TimeDelta::milliseconds((seconds * 1000.0) as i64);
        Ok(BoardLimits {
            step_stalled_after: duration(step),
            wake_stuck_after: duration(wake),
            run_silent_after: duration(run),
        })
    }
}
