//! What every kind of subject knows about itself: what may be wrong with it, and the clauses of that definition.

use std::fmt::{Display, Formatter, Result as FormatResult};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use super::display::{HumanDuration, humanize, queued_for};
use super::subject::AgentState;
use super::{AHEAD_MAX, Assignee, Cause, ContinueBy, History, Policy, Reason};

/// What every kind of subject knows about itself.
pub trait Facts {
    /// What may be wrong, and the clauses that must all hold for it.
    fn definition(&self, policy: &Policy) -> (Finding, Vec<Clause>);
    /// What is wrong, or why nothing is.
    fn diagnose(&self, policy: &Policy) -> Result<Finding, Reason> {
        diagnosis(&self.definition(policy))
    }
    /// Why what is open in the ledger must stay open although the subject itself has healed.
    fn withholds_recovery(&self, _policy: &Policy) -> Option<Reason> {
        None
    }
    /// How often, and how, it is continued.
    fn allowance(&self, policy: &Policy) -> RetryBudget {
        RetryBudget { remedy: ContinueBy::Wake, attempts_max: policy.attempts_max, delay: policy.retry_delay }
    }
    /// True if the last attempt may still help for a while after it was made, and after what it began has ended: the
    /// host may take up what it left behind.
    fn last_attempt_may_help(&self, _policy: &Policy) -> bool {
        true
    }
    /// Why no continuation could reach it.
    fn unreachable(&self, _policy: &Policy) -> Option<Cause> {
        (*self.assignee() == Assignee::Nobody).then_some(Cause::NoAgent)
    }
    /// How often people may be notified of it in a day, however often somebody sets it back to work.
    fn escalations_per_day_max(&self, policy: &Policy) -> u32 {
        policy.attempts_per_day_max.max(1)
    }
    /// What its agent is doing, as far as somebody sees it.
    fn agent_state(&self) -> Option<&AgentState> {
        None
    }
    /// Which run of it is lost, and how that is known, if that is why nobody works on it. Without durations: a plan
    /// that was shown is compared with what is decided later.
    fn lost_run(&self, _policy: &Policy) -> Option<String> {
        None
    }
    fn assignee(&self) -> &Assignee;
    fn history(&self) -> &History;
}

/// How a subject is continued, how often in an episode, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryBudget {
    pub remedy: ContinueBy,
    pub attempts_max: u32,
    pub delay: TimeDelta,
}

/// Returns what is wrong, or why nothing is: the first clause that does not hold.
pub(super) fn diagnosis((finding, clauses): &(Finding, Vec<Clause>)) -> Result<Finding, Reason> {
    clauses.iter().find_map(|clause| clause.failure.clone()).map_or(Ok(*finding), Err)
}

/// What is wrong with a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Finding {
    /// An issue in progress that nobody is working on.
    Orphaned,
    /// A plan step in progress for too long.
    Stalled,
    /// A session that shows no sign of life.
    Silent,
    /// A session that repeats itself.
    Looping,
    /// A session whose process ended before its work.
    Crashed,
    /// A session whose agent asks a person something, or cannot go on without one.
    Waiting,
    /// A session that moves, and does nothing new.
    NoProgress,
}

impl Finding {
    /// The finding's name for programs.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The words with which the finding's definition begins, before the clauses.
    pub fn definition(self) -> &'static str {
        match self {
            Finding::Orphaned => "An issue is orphaned if and only if:",
            Finding::Stalled => "A plan step is stalled, and nothing is on its way, if and only if:",
            Finding::Silent => "A session is silent, and nothing is on its way, if and only if:",
            Finding::Looping => "A session is looping, and nothing is on its way, if and only if:",
            Finding::Crashed => "A session is crashed, and nothing is on its way, if and only if:",
            Finding::Waiting => "A session waits for a person, and nothing is on its way, if and only if:",
            Finding::NoProgress => "A session is without progress, and nothing is on its way, if and only if:",
        }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter) -> FormatResult {
        f.write_str(match self {
            Finding::Waiting => "waiting for a person",
            Finding::NoProgress => "without progress",
            finding => finding.name(),
        })
    }
}

/// One clause of a finding's definition, as one subject meets it.
#[derive(Clone, Debug, PartialEq)]
pub struct Clause {
    /// What it demands, in words.
    pub demand: String,
    /// The value that was found, in words.
    pub found: String,
    /// Why the subject is left; none when the clause holds.
    pub failure: Option<Reason>,
    /// The clause demands patience of sweeps alone: a person who asks for something does not wait for it.
    pub is_patience: bool,
}

impl Clause {
    pub(super) fn new(demand: impl Into<String>, found: impl Into<String>, failure: Option<Reason>) -> Clause {
        Clause { demand: demand.into(), found: found.into(), failure, is_patience: false }
    }

    /// The clause as one that demands patience of sweeps alone.
    pub(super) fn demanding_patience(self) -> Clause {
        Clause { is_patience: true, ..self }
    }
}

pub(super) fn is_in_progress(status: &str) -> bool {
    status == "in_progress"
}

/// The clause that the subject's status says that it is in progress.
pub(super) fn in_progress(status: &str) -> Clause {
    let failure = (!is_in_progress(status)).then(|| Reason::NotInProgress(status.to_owned()));
    Clause::new("it is in progress", humanize(status), failure)
}

/// The clause that the subject waits for nothing.
pub(super) fn no_wait_is_declared(wait: Option<&str>) -> Clause {
    let failure = wait.map(|wait| Reason::DeclaredWait(wait.to_owned()));
    Clause::new("no wait is declared", wait.unwrap_or("none"), failure)
}

/// What the runs of a subject that have not ended say: whether somebody is at work on it. A run is lost, strongest
/// evidence first, when the program that ran it has started again; when its lease has run out; and when it has shown
/// signs of life before, and is silent for longer than `run_silent_after`. One that has never shown any is live.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnendedRuns {
    /// Some run is live by what the database knows: it has never shown a sign of life, or its lease holds.
    pub has_live_run: bool,
    /// The latest sign of life of the runs that hold no lease.
    pub heard_of_at: Option<DateTime<Utc>>,
    /// Which run is lost by what the database knows, and how that is known, in a few words.
    pub lost: Option<String>,
}

impl UnendedRuns {
    #[cfg(test)]
    pub(super) fn live() -> UnendedRuns {
        UnendedRuns { has_live_run: true, ..UnendedRuns::default() }
    }

    /// Is somebody at work?
    pub(super) fn are_live(&self, now: DateTime<Utc>, policy: &Policy) -> bool {
        self.has_live_run || self.heard_of_at.is_some_and(|heard| now - heard <= policy.run_silent_after)
    }

    /// Is a run of it lost, and none at work?
    pub(super) fn are_lost(&self, now: DateTime<Utc>, policy: &Policy) -> bool {
        (self.lost.is_some() || self.heard_of_at.is_some()) && !self.are_live(now, policy)
    }

    /// `its run 01a22ef1 is lost: its lease has run out`, if one is, and none is at work.
    pub(super) fn loss(&self, now: DateTime<Utc>, policy: &Policy) -> Option<String> {
        let lost = self.lost.as_deref().unwrap_or("run is lost: it has fallen silent");
        self.are_lost(now, policy).then(|| format!("its {lost}"))
    }
}

/// The clause that no run is live; `last_end` says how the last one ended, if that is known.
pub(super) fn no_run_is_live(
    runs: &UnendedRuns,
    last_end: Option<&str>,
    now: DateTime<Utc>,
    policy: &Policy,
) -> Clause {
    let is_live = runs.are_live(now, policy);
    let found = match (runs, last_end) {
        (UnendedRuns { has_live_run: true, .. }, _) => "one is".to_owned(),
        (UnendedRuns { lost: Some(lost), .. }, _) if !is_live => format!("none; {lost}"),
        (UnendedRuns { heard_of_at: Some(heard), .. }, _) => {
            let ago = HumanDuration(now - *heard);
            format!("{}, heard of {ago} ago", if is_live { "one is" } else { "none; one is lost" })
        }
        (_, Some(end)) => format!("none; the last: {end}"),
        (_, None) => "none".to_owned(),
    };
    Clause::new("no run is live", found, is_live.then_some(Reason::LiveRun))
}

/// The clause that no wake is pending. One that is old, or lies in the future, is reported as stuck.
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
