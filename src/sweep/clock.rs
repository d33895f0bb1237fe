//! The two clocks: only the database's counts, but an operator should know when they differ.

use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::QueryResult;

use crate::rules::AHEAD_MAX;
use crate::store::{Access, Db, ledger};

/// What there is to say of the database's clock.
pub struct Comparison {
    pub now: DateTime<Utc>,
    /// By how much it is ahead of this machine's.
    pub skew: TimeDelta,
    /// By how much the ledger's newest row is ahead of it: it was wrong then, or is now.
    pub ledger_ahead: Option<TimeDelta>,
}

/// Whoever may only look need not have the right to read the ledger itself.
pub fn compare(db: &mut Db, access: Access) -> QueryResult<Comparison> {
    let before = this_machines();
    let now = db.now()?;
    let meanwhile = this_machines() - before;
    let newest = if access == Access::Write { ledger::newest(db)? } else { None };
    let ledger_ahead = newest.map(|at| at - now).filter(|ahead| AHEAD_MAX < *ahead);
    Ok(Comparison { now, skew: now - (before + meanwhile / 2), ledger_ahead })
}

/// For this comparison alone.
fn this_machines() -> DateTime<Utc> {
    #[expect(clippy::disallowed_methods, reason = "to report to an operator that it differs from the database's")]
    let now = SystemTime::now();
    now.into()
}
