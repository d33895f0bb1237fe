//! The rules: given what is known of one subject, what should be done about it?
//!
//! Work in progress has a live run, a queued wake, a declared wait, or has been escalated to a person. A subject
//! that has none of these is diagnosed by its kind (`issue`, `step`); what follows is the same for all kinds and
//! stands here, in `decide`. Pure: no clock but `History::observed_at`, no database, no settings but `Policy`.

pub mod board;
mod decide;
mod decision;
pub mod display;
mod facts;
pub mod issue;
mod loops;
mod policy;
pub mod request;
pub mod session;
pub mod step;
mod subject;

pub use decide::{Verdict, decide};
pub use decision::{Cause, ContinueBy, Decision, Reason};
pub use facts::{Clause, Facts, Finding, RetryBudget, UnendedRuns};
pub use loops::{Essence, Loop, detect_loop, without_middle};
pub use policy::{After, Escalation, Guard, Policy};
pub use subject::{
    AHEAD_MAX, Assignee, Exemption, History, Id, Kind, OpenRecovery, RESTING, TERMINATED, Unavailable, Whose,
};

#[cfg(test)]
mod random_histories;
#[cfg(test)]
mod tests;
