//! The two clocks: only the database's counts, but an operator should know when they differ.

use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::QueryResult;

use crate::store::Db;

/// The database's clock, and by how much it is ahead of this machine's.
pub fn compare(db: &mut Db) -> QueryResult<(DateTime<Utc>, TimeDelta)> {
    let before = this_machines();
    let theirs = db.now()?;
    let meanwhile = this_machines() - before;
    Ok((theirs, theirs - (before + meanwhile / 2)))
}

/// For this comparison alone.
fn this_machines() -> DateTime<Utc> {
    #[expect(clippy::disallowed_methods, reason = "to tell an operator that it differs from the database's")]
    let now = SystemTime::now();
    now.into()
}
