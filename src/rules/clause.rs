//! The clauses of a definition.

use super::Reason;
use super::words::humanize;

/// One clause of a definition, as one subject meets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// What it demands, in words.
    pub demand: String,
    /// The value that was found, in words.
    pub found: String,
    /// Why the subject is left; none when the clause holds.
    pub failure: Option<Reason>,
}

impl Clause {
    pub(super) fn new(demand: impl Into<String>, found: impl Into<String>, failure: Option<Reason>) -> Clause {
        Clause { demand: demand.into(), found: found.into(), failure }
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
