//! What all parts of a status go by: its JSON's version, how many rows it lists, and the limits of the boards' views.

use chrono::TimeDelta;
use diesel::prelude::*;
use diesel::result::Error;

use crate::store::Db;
use crate::store::db::schema::policy;

/// The version of the JSON.
pub const SCHEMA: u32 = 1;

/// Rows kept of each list, the oldest; beside it stands how many there are.
pub const ROWS_MAX: i64 = 50;

/// What the latest sweep of everything called too long, else the defaults.
pub struct Limits {
    pub step_stalled_after: TimeDelta,
    pub wake_stuck_after: TimeDelta,
}

const LOST_ROW: &str = "the table policy has lost its row, or what it says of the rules: `sweep migrate` and the next \
    sweep of everything write it";

/// Without the row, the boards' views have no state for a subject that is in progress.
pub fn lost_row() -> Error {
    Error::DeserializationError(LOST_ROW.into())
}

impl Limits {
    pub fn read(db: &mut Db) -> QueryResult<Limits> {
        let columns = (policy::step_stalled_after_seconds, policy::wake_stuck_after_seconds);
        let row = policy::table.select(columns).first::<(f64, f64)>(db).optional()?;
        let (step, wake) = row.ok_or_else(lost_row)?;
        let duration = |seconds: f64| TimeDelta::milliseconds((seconds * 1000.0) as i64);
        Ok(Limits { step_stalled_after: duration(step), wake_stuck_after: duration(wake) })
    }
}
