//! What every kind of subject knows about itself.

use chrono::TimeDelta;

use super::session::AgentState;
use super::{Assignee, Cause, Clause, ContinueBy, Finding, History, Policy, Reason};

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
    /// May the last attempt still help for a while after it was made, and after what it began has ended? What it left
    /// behind may be taken up by the host.
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

/// What is wrong, or why nothing is: the first clause that does not hold.
pub(super) fn diagnosis((finding, clauses): &(Finding, Vec<Clause>)) -> Result<Finding, Reason> {
    clauses.iter().find_map(|clause| clause.failure.clone()).map_or(Ok(*finding), Err)
}
