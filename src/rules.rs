//! The rules: given what is known of one subject, what should be done about it?
//!
//! Work in progress has a live run, a queued wake, a declared wait, or has been escalated to a person. A subject
//! that has none of these is diagnosed by its kind (`issue`, `step`); what follows is the same for all kinds and
//! stands here, in `decide`. Pure: no clock but `History::observed_at`, no database, no settings but `Policy`.

mod assignee;
pub mod board;
mod clause;
mod guard;
mod history;
pub mod issue;
mod loops;
mod policy;
mod reason;
pub mod session;
pub mod step;
pub mod words;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

pub use assignee::{Assignee, RESTING, TERMINATED, Unavailable};
pub use clause::Clause;
pub use guard::Guard;
pub use history::{AHEAD_MAX, Exemption, History, OpenRecovery};
pub use loops::{Essence, Loop, detect_loop, without_middle};
pub use policy::{After, Escalation, Policy};
pub use reason::Reason;

/// A row's id as its database prints it: a hyphenated uuid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Id(pub String);

/// The kinds of subject, in the order in which they are swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Session,
    Issue,
    Step,
}

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
    /// May the last attempt still help for a while after it was made, and after what it began has ended? What it left behind
    /// may be taken up by the host.
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
    fn agent_state(&self) -> Option<&session::AgentState> {
        None
    }
    fn assignee(&self) -> &Assignee;
    fn history(&self) -> &History;
}

/// What is wrong with a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

/// What should be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Leave(Reason),
    /// It goes on, or is finished: close what is open in the ledger.
    Recovered(Reason),
    /// It is its host's or a person's now: close what is open in the ledger.
    HandedOver(Reason),
    /// Something is wrong, but its assignee must not be woken.
    Skip(Unavailable),
    /// The same, for so long that a person must hear of it, once: nothing of it is touched.
    Abandon(Unavailable),
    /// The last attempt is too young for another one, or ended too short a time ago for a person to be notified.
    Wait {
        until: DateTime<Utc>,
    },
    /// Queue one wake or command.
    Continue {
        attempt: u32,
        remedy: ContinueBy,
    },
    /// Tell a person.
    Escalate(Cause),
}

/// How a subject is continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinueBy {
    /// Its agent is woken.
    Wake,
    /// A message is typed into it.
    Nudge,
    /// It is started again, in the same place.
    Relaunch,
}

/// How a subject is continued, how often in an episode, and how far apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryBudget {
    pub remedy: ContinueBy,
    pub attempts_max: u32,
    pub delay: TimeDelta,
}

/// Why a person has to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The agent waits for a person: what it says, in words.
    Asks(String),
    /// The session moves, and does nothing new.
    NoProgress,
    /// Nothing may be typed into the session: it is not known to be idle at its prompt.
    NotAtPrompt,
    /// As many continuations as an episode may have did not help.
    Exhausted,
    /// An episode may have none.
    NotAllowed,
    /// `attempts_per_day_max` continuations in 24 hours.
    TooManyAttempts,
    /// There is no agent to wake.
    NoAgent,
    /// The host would take no wake up: why.
    WakesInVain(String),
    /// The session takes no commands.
    NoChannel,
    /// The session's supervisor left a command where it was.
    NotDelivered,
}

/// The finding and the decision for one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What it was examined for, and how it meets each clause.
    pub definition: (Finding, Vec<Clause>),
    pub finding: Option<Finding>,
    pub decision: Decision,
    /// Continuations that an episode may have.
    pub attempts_max: u32,
}

/// The one place where it is decided what happens to a subject.
pub fn decide(facts: &impl Facts, policy: &Policy) -> Verdict {
    let definition = facts.definition(policy);
    let (finding, decision) = match diagnosis(&definition) {
        Ok(finding) => (Some(finding), treat(facts, policy)),
        Err(reason) => (None, dismiss(facts, reason, policy)),
    };
    Verdict { definition, finding, decision, attempts_max: facts.allowance(policy).attempts_max }
}

/// What is wrong, or why nothing is: the first clause that does not hold.
fn diagnosis((finding, clauses): &(Finding, Vec<Clause>)) -> Result<Finding, Reason> {
    clauses.iter().find_map(|clause| clause.failure.clone()).map_or(Ok(*finding), Err)
}

fn dismiss(facts: &impl Facts, reason: Reason, policy: &Policy) -> Decision {
    let history = facts.history();
    match &history.open {
        Some(open) if reason.settles(history, open) => match facts.withholds_recovery(policy) {
            Some(withheld) => Decision::Leave(withheld),
            None if reason.goes_on_or_is_finished() => Decision::Recovered(reason),
            None => Decision::HandedOver(reason),
        },
        _ => Decision::Leave(reason),
    }
}

fn treat(facts: &impl Facts, policy: &Policy) -> Decision {
    let (history, allowance) = (facts.history(), facts.allowance(policy));
    if let Some(exemption) = history.exemption.as_ref().filter(|exemption| exemption.holds(history.observed_at)) {
        return Decision::Leave(Reason::Exempt(exemption.reason.clone()));
    }
    if let Some(unavailable) = facts.assignee().unavailable() {
        return skip(unavailable, history, policy);
    }
    if history.escalated {
        return Decision::Leave(Reason::Escalated);
    }
    let after_last = history.within(allowance.delay, history.last_attempt_at.max(history.last_attempt_ended_at));
    match (facts.unreachable(policy), after_last) {
        (Some(Cause::WakesInVain(_)), Some(until)) => return Decision::Wait { until },
        (Some(cause), _) => return escalate(cause, facts, policy),
        (None, _) => {}
    }
    let spent = spent(history, &allowance, policy);
    let resting = match &spent {
        Some(_) => after_last.filter(|_| facts.last_attempt_may_help(policy)),
        None => history.within(allowance.delay, history.last_attempt_at),
    };
    match (resting, spent) {
        (Some(until), _) => Decision::Wait { until },
        (None, Some(cause)) => escalate(cause, facts, policy),
        (None, None) => Decision::Continue { attempt: history.attempts + 1, remedy: allowance.remedy },
    }
}

/// Its assignee must not be woken; in time a person hears of it, unless one has heard of the subject already.
fn skip(unavailable: Unavailable, history: &History, policy: &Policy) -> Decision {
    let is_abandoned = unavailable.patience(policy).is_over(history.idle_for());
    match is_abandoned && !history.abandoned && !history.escalated {
        true => Decision::Abandon(unavailable),
        false => Decision::Skip(unavailable),
    }
}

/// Why there is no attempt left.
fn spent(history: &History, allowance: &RetryBudget, policy: &Policy) -> Option<Cause> {
    if allowance.attempts_max <= history.attempts {
        return Some(if allowance.attempts_max == 0 { Cause::NotAllowed } else { Cause::Exhausted });
    }
    (policy.attempts_per_day_max <= history.attempts_last_day).then_some(Cause::TooManyAttempts)
}

fn escalate(cause: Cause, facts: &impl Facts, policy: &Policy) -> Decision {
    match facts.history().escalations_last_day < facts.escalations_per_day_max(policy) {
        true => Decision::Escalate(cause),
        false => Decision::Leave(Reason::Escalated),
    }
}

impl Decision {
    /// The decision's name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Decision::Leave(_) => "leave",
            Decision::Recovered(_) => "recovered",
            Decision::HandedOver(_) => "handed_over",
            Decision::Skip(_) => "skip",
            Decision::Abandon(_) => "abandon",
            Decision::Wait { .. } => "wait",
            Decision::Continue { .. } => "continue",
            Decision::Escalate(_) => "escalate",
        }
    }
}

#[cfg(test)]
mod random_histories;
#[cfg(test)]
mod tests;
