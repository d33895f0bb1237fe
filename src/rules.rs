//! The rules: given what is known of one subject, what should be done about it?
//!
//! Work in progress has a live run, a queued wake, a declared wait, or has been escalated to a person. A subject
//! that has none of these is diagnosed by its kind (`issue`, `step`); what follows is the same for all kinds and
//! stands here, in `decide`. Pure: no clock but `History::observed_at`, no database, no settings but `Policy`.

mod clause;
mod guard;
mod history;
pub mod issue;
mod loops;
mod policy;
pub mod step;
pub mod words;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

pub use clause::Clause;
pub use guard::Guard;
pub use history::{Exemption, History, OpenRecovery};
pub use loops::{Loop, detect_loop};
pub use policy::{Escalation, Policy};

/// A row's id as its database prints it: a hyphenated uuid.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Id(pub String);

/// The kinds of subject, in the order in which they are swept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
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
    fn assignee(&self) -> &Assignee;
    fn history(&self) -> &History;
}

/// Who would be woken.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignee {
    /// Nobody: a plan whose client pulls.
    Nobody,
    Agent {
        id: Id,
        /// Null when there is no such agent.
        name: Option<String>,
        /// As stored; null when there is no such agent.
        status: Option<String>,
        /// Why the host says that a wake would do harm although the agent could be woken.
        obstacle: Option<String>,
    },
}

/// What is wrong with a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finding {
    /// An issue in progress that nobody is working on.
    Orphaned,
    /// A plan step in progress for too long.
    Stalled,
}

/// Why a subject is left as it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    NotInProgress(String),
    /// The plan's status: neither executing nor stalled.
    PlanNotOpen(String),
    NoAgentAssigned,
    AssignedToUser,
    LiveRun,
    PendingWake,
    /// Pending for longer than `wake_stuck_after`: for this long.
    StuckWake(TimeDelta),
    DeclaredWait(String),
    /// Its grace or threshold has not passed, or its timestamp lies in the future.
    Recent,
    /// It healed, but its plan has another stalled step.
    PlanStillStalled,
    /// An operator said that it is in progress on purpose: why.
    Exempt(String),
    /// A person has been told and has not answered.
    Escalated,
}

impl Reason {
    /// Has the subject healed, so that an open attempt or escalation may be closed? A run or a moment of quiet
    /// that is only the continuation's own proves nothing: then the episode is still the old one.
    fn settles(&self, history: &History, open: &OpenRecovery) -> bool {
        match self {
            Reason::NotInProgress(_)
            | Reason::PlanNotOpen(_)
            | Reason::NoAgentAssigned
            | Reason::AssignedToUser
            | Reason::DeclaredWait(_) => true,
            Reason::LiveRun | Reason::Recent => open.since < history.episode_began_at,
            Reason::PendingWake
            | Reason::StuckWake(_)
            | Reason::PlanStillStalled
            | Reason::Exempt(_)
            | Reason::Escalated => false,
        }
    }
}

/// What should be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    Leave(Reason),
    /// It healed: close what is open in the ledger.
    Recovered(Reason),
    /// Something is wrong, but its assignee must not be woken.
    Skip(Unavailable),
    /// The last attempt is too young.
    Wait {
        until: DateTime<Utc>,
    },
    /// Queue one wake.
    Continue {
        attempt: u32,
    },
    /// Tell a person.
    Escalate(Cause),
}

/// Why an assignee cannot be woken.
#[derive(Clone, Debug, PartialEq)]
pub enum Unavailable {
    NoSuchAgent,
    Status { name: String, status: String },
    Obstacle(String),
}

/// Why a person has to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// `attempts_max` continuations did not help.
    Exhausted,
    /// `attempts_per_day_max` continuations in 24 hours.
    TooManyAttempts,
    /// There is no agent to wake.
    NoAgent,
}

/// The finding and the decision for one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// What it was examined for, and how it meets each clause.
    pub definition: (Finding, Vec<Clause>),
    pub finding: Option<Finding>,
    pub decision: Decision,
}

/// The one place where it is decided what happens to a subject.
pub fn decide(facts: &impl Facts, policy: &Policy) -> Verdict {
    let definition = facts.definition(policy);
    let (finding, decision) = match diagnosis(&definition) {
        Ok(finding) => (Some(finding), treat(facts, policy)),
        Err(reason) => (None, dismiss(facts, reason, policy)),
    };
    Verdict { definition, finding, decision }
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
            None => Decision::Recovered(reason),
        },
        _ => Decision::Leave(reason),
    }
}

fn treat(facts: &impl Facts, policy: &Policy) -> Decision {
    let history = facts.history();
    if let Some(exemption) = history.exemption.as_ref().filter(|exemption| exemption.holds(history.observed_at)) {
        return Decision::Leave(Reason::Exempt(exemption.reason.clone()));
    }
    if let Some(unavailable) = facts.assignee().unavailable() {
        return Decision::Skip(unavailable);
    }
    if history.escalated {
        return Decision::Leave(Reason::Escalated);
    }
    if *facts.assignee() == Assignee::Nobody {
        return escalate(Cause::NoAgent, history, policy);
    }
    if policy.attempts_max <= history.attempts {
        return escalate(Cause::Exhausted, history, policy);
    }
    if policy.attempts_per_day_max <= history.attempts_last_day {
        return escalate(Cause::TooManyAttempts, history, policy);
    }
    if let Some(last) = history.last_attempt_at
        && history.observed_at - last < policy.retry_delay
    {
        return Decision::Wait { until: last.checked_add_signed(policy.retry_delay).unwrap_or(last) };
    }
    Decision::Continue { attempt: history.attempts + 1 }
}

/// However often somebody sets a subject back to work, people are told no more often in a day than agents are woken.
fn escalate(cause: Cause, history: &History, policy: &Policy) -> Decision {
    match history.escalations_last_day < policy.attempts_per_day_max.max(1) {
        true => Decision::Escalate(cause),
        false => Decision::Leave(Reason::Escalated),
    }
}

impl Assignee {
    fn unavailable(&self) -> Option<Unavailable> {
        let Assignee::Agent { name, status, obstacle, .. } = self else {
            return None;
        };
        let Some(status) = status else {
            return Some(Unavailable::NoSuchAgent);
        };
        match status.as_str() {
            "active" | "idle" | "running" | "error" => obstacle.clone().map(Unavailable::Obstacle),
            // Paused, terminated, pending approval, or a status that we do not know.
            _ => Some(Unavailable::Status { name: name.clone().unwrap_or_default(), status: status.clone() }),
        }
    }

    pub fn id(&self) -> Option<&Id> {
        match self {
            Assignee::Nobody => None,
            Assignee::Agent { id, .. } => Some(id),
        }
    }

    /// The agent's id, if there is such an agent.
    pub fn existing_id(&self) -> Option<&Id> {
        match self {
            Assignee::Agent { id, status: Some(_), .. } => Some(id),
            Assignee::Agent { .. } | Assignee::Nobody => None,
        }
    }
}

impl Decision {
    /// The decision's name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Decision::Leave(_) => "leave",
            Decision::Recovered(_) => "recovered",
            Decision::Skip(_) => "skip",
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
