//! The clauses of a definition.

use chrono::{DateTime, Utc};

use super::display::{humanize, queued_for};
use super::{AHEAD_MAX, History, Policy, Reason};

/// One clause of a definition, as one subject meets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// What it demands, in words.
    pub demand: String,
    /// The value that was found, in words.
    pub found: String,
    /// Why the subject is left; none when the clause holds.
    pub failure: Option<Reason>,
    /// It demands patience alone, of sweeps: who asks for something does not wait for it.
    pub is_patience: bool,
}

impl Clause {
    pub(super) fn new(demand: impl Into<String>, found: impl Into<String>, failure: Option<Reason>) -> Clause {
        Clause { demand: demand.into(), found: found.into(), failure, is_patience: false }
    }

    pub(super) fn of_patience(self) -> Clause {
        Clause { is_patience: true, ..self }
    }
}

pub(super) fn is_in_progress(status: &str) -> bool {
    status == "in_progress"
}

pub(super) fn in_progress(status: &str) -> Clause {
    let failure = (!is_in_progress(status)).then(|| Reason::NotInProgress(status.to_owned()));
    Clause::new("it is in progress", humanize(status), failure)
}

pub(super) fn no_wait_is_declared(wait: Option<&str>) -> Clause {
    let failure = wait.map(|wait| Reason::DeclaredWait(wait.to_owned()));
    Clause::new("no wait is declared", wait.unwrap_or("none"), failure)
}

/// `last_end` says how the last one ended, if that is known.
pub(super) fn no_run_is_live(has_live_run: bool, last_end: Option<&str>) -> Clause {
    let found = match (has_live_run, last_end) {
        (true, _) => "one is".to_owned(),
        (false, None) => "none".to_owned(),
        (false, Some(end)) => format!("none; the last: {end}"),
    };
    Clause::new("no run is live", found, has_live_run.then_some(Reason::LiveRun))
}

/// A pending wake is a reason to leave its subject alone; one that is old, or lies in the future, is reported as stuck.
/// `detail` says which wake it is, and what became of it so far.
pub(super) fn no_wake_is_pending(
    history: &History,
    since: Option<DateTime<Utc>>,
    detail: Option<&str>,
    policy: &Policy,
) -> Clause {
    let age = since.map(|since| history.observed_at - since);
    let is_stuck = |age| policy.wake_stuck_after < age || age < -AHEAD_MAX;
    let reason = |age| if is_stuck(age) { Reason::StuckWake(age) } else { Reason::PendingWake };
    let found = age.map_or("none".to_owned(), |age| format!("one, {}", queued_for(age)));
    let found = [Some(found.as_str()), detail].into_iter().flatten().collect::<Vec<_>>().join(": ");
    Clause::new("no wake is pending", found, age.map(reason))
}
