//! The clocks of this machine, of the database and of the host's server: only the database's counts, but an operator
//! should know when another one differs.

use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;

use super::options::Options;
use super::selection::look;
use crate::rules::AHEAD_MAX;
use crate::store::db::schema::host_clock;
use crate::store::hosts::folders::Host;
use crate::store::work::opening::Start;
use crate::store::{Access, Db, DbConnection};

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

/// How far the clock of the host's server is behind the database's, in seconds, as the host's rows tell; none where
/// they do not, or cannot be asked.
pub fn host_behind(db: &mut DbConnection, host: &Host, options: &Options) -> Option<f64> {
    if !host.views(db.dialect()).iter().any(|view| view == "host_clock") {
        return None;
    }
    look(options, db, |db| host_clock::table.select(host_clock::behind_seconds).first(db)).ok()
}

/// For this comparison alone.
fn this_machines() -> DateTime<Utc> {
    #[expect(clippy::disallowed_methods, reason = "to report to an operator that it differs from the database's")]
    let now = SystemTime::now();
    now.into()
}
