//! The rules: given what is known of one subject, what should be done about it?
//!
//! Work in progress has a live run, a queued wake, a declared wait, or has been escalated to a person. A subject
//! that has none of these is diagnosed by its kind (`issue`, `step`); what follows is the same for all kinds and
//! stands here, in `decide`. Pure: no clock but `History::observed_at`, no database, no settings but `Policy`.

pub mod advice;
mod assignee;
pub mod board;
mod clause;
mod decide;
mod decision;
pub mod display;
mod facts;
mod finding;
mod guard;
mod history;
pub mod issue;
mod loops;
mod policy;
mod reason;
pub mod request;
pub mod session;
pub mod step;
mod subject;

pub use assignee::{Assignee, RESTING, TERMINATED, Unavailable};
pub use clause::Clause;
pub use decide::{Verdict, decide};
pub use decision::{Cause, ContinueBy, Decision};
pub use facts::{Facts, RetryBudget};
pub use finding::Finding;
pub use guard::Guard;
pub use history::{AHEAD_MAX, Exemption, History, OpenRecovery, Whose};
pub use loops::{Essence, Loop, detect_loop, without_middle};
pub use policy::{After, Escalation, Policy};
pub use reason::Reason;
pub use subject::{Id, Kind};

#[cfg(test)]
mod random_histories;
#[cfg(test)]
mod tests;
