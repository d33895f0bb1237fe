//! The two clocks: only the database's counts, but an operator should know when they differ.

use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::QueryResult;

use crate::rules::AHEAD_MAX;
use crate::store::opening::Start;
use crate::store::{Access, Db};

/// What there is to say of the database's clock.
pub struct Comparison {
    /// By how much it is ahead of this machine's.
    pub skew: TimeDelta,
    /// By how much the ledger's newest row is ahead of it: it was wrong then, or is now.
    pub ledger_ahead: Option<TimeDelta>,
}

/// Reads the database's clock with all else that is asked of it first, and compares.
pub fn read(db: &mut Db, access: Access) -> QueryResult<(Start, Comparison)> {
    let before = this_machines();
    let start = Start::read(db, access)?;
    let meanwhile = this_machines() - before;
    let ledger_ahead = start.newest_recovery.map(|at| at - start.now).filter(|ahead| AHEAD_MAX < *ahead);
    let skew = start.now - (before + meanwhile / 2);
    Ok((start, Comparison { skew, ledger_ahead }))
}

/// For this comparison alone.
fn this_machines() -> DateTime<Utc> {
    #[expect(clippy::disallowed_methods, reason = "to report to an operator that it differs from the database's")]
    let now = SystemTime::now();
    now.into()
}
