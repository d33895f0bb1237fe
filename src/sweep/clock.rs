//! The clocks of this machine, of the database and of the host's server: only the database's counts, but an operator
//! should know when another one differs.

use std::time::SystemTime;

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use serde::Serialize;

use crate::rules::display::HumanDuration;
use crate::rules::{AHEAD_MAX, Id, Kind};
use crate::store::db::schema::host_clock;
use crate::store::hosts::folders::Host;
use crate::store::work::opening::Start;
use crate::store::{Access, Db, DbConnection, Timeouts};

/// Reads the database's clock with all else that is asked of it first, and compares.
pub fn read(db: &mut Db, access: Access, kinds: &[Kind]) -> QueryResult<(Start, Clocks)> {
    let before = this_machines();
    let start = Start::read(db, access, kinds)?;
    let ledger_ahead = start.newest_recovery.map(|at| at - start.now).filter(|ahead| AHEAD_MAX < *ahead);
    let ledger_future_seconds = ledger_ahead.map(|ahead| ahead.num_seconds());
    let clocks = Clocks { ledger_future_seconds, ..Clocks::since(before, start.now) };
    Ok((start, clocks))
}

/// Reads the database's clock alone, and compares.
pub fn compare(db: &mut Db) -> QueryResult<Clocks> {
    let before = this_machines();
    let now = db.now()?;
    Ok(Clocks::since(before, now))
}

/// How far the clock of the host's server is behind the database's, in seconds, as the host's rows tell; none where
/// they do not, or cannot be asked.
pub fn host_behind(db: &mut DbConnection, host: &Host, timeouts: &Timeouts) -> Option<f64> {
    if !host.views(db.dialect()).iter().any(|view| view == "host_clock") {
        return None;
    }
    let read = |db: &mut Db| -> QueryResult<f64> { host_clock::table.select(host_clock::behind_seconds).first(db) };
    db.in_transaction(Access::ReadOnly, timeouts, read).ok()
}

/// The time by this machine's clock, for this comparison alone.
fn this_machines() -> DateTime<Utc> {
    #[expect(clippy::disallowed_methods, reason = "to report to an operator that it differs from the database's")]
    let now = SystemTime::now();
    now.into()
}

/// Clocks that differ by more, and rows that are further ahead, are reported.
const SKEW_MAX: TimeDelta = TimeDelta::seconds(5);

/// The database's clock compared with others, and rows that are ahead of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Clocks {
    /// How far the database's clock is ahead of this machine's.
    pub skew_seconds: f64,
    /// How far the clock of the host's server is behind the database's; none where the host says nothing of it.
    pub host_behind_seconds: Option<f64>,
    /// How far the newest row lies in the future, by the database's clock.
    pub future_seconds: Option<i64>,
    /// The subject of that row.
    pub future_subject: Option<Id>,
    /// The kind of that subject, and what people call it.
    #[serde(skip)]
    pub future_name: Option<String>,
    /// How far the newest row of the ledger lies in the future, if by more than a minute.
    pub ledger_future_seconds: Option<i64>,
}

impl Clocks {
    /// Compares what the database has just said with this machine's clock, which was asked before.
    fn since(before: DateTime<Utc>, now: DateTime<Utc>) -> Clocks {
        let meanwhile = this_machines() - before;
        let skew = now - (before + meanwhile / 2);
        Clocks { skew_seconds: skew.num_milliseconds() as f64 / 1000.0, ..Clocks::default() }
    }

    /// What an operator should know of the clocks, in sentences.
    pub fn warnings(&self) -> Vec<String> {
        let skew = TimeDelta::milliseconds((self.skew_seconds * 1000.0) as i64);
        let behind = self.host_behind_seconds.map(|seconds| TimeDelta::milliseconds((seconds * 1000.0) as i64));
        let behind = behind.filter(|behind| SKEW_MAX < *behind).map(|behind| {
            format!(
                "The clock of the host's server is {0} behind the database's: after the end of a run sweep waits {0} \
                    longer",
                HumanDuration(behind)
            )
        });
        let ahead = self.future_seconds.map(TimeDelta::seconds);
        let whose = if skew < TimeDelta::zero() { "behind" } else { "ahead of" };
        let skewed = (SKEW_MAX < skew.abs()).then(|| {
            format!(
                "The database's clock is {} {whose} this machine's; only the database's counts",
                HumanDuration(skew.abs())
            )
        });
        let future = ahead.filter(|ahead| SKEW_MAX < *ahead).zip(self.future_name.as_ref()).map(|(ahead, name)| {
            format!(
                "The newest row, {name}, lies {} in the future: it counts as a sign of life until then",
                HumanDuration(ahead)
            )
        });
        let ledger = self.ledger_future_seconds.map(|seconds| {
            format!(
                "The ledger's newest row lies {} in the future: the database's clock was ahead when a sweep wrote it. \
                    Nothing waits for \
                 that time",
                HumanDuration(TimeDelta::seconds(seconds))
            )
        });
        skewed.into_iter().chain(behind).chain(future).chain(ledger).collect()
    }
}
