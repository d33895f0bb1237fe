//! What a detector sends.

use std::sync::Arc;
use std::time::Duration;

use crate::rules::{Cause, Finding, Id, Loop};

/// What has happened to a session, or should be done, after silence (or in a loop, no progress) for `silent_for`.
#[derive(Clone, Debug, PartialEq)]
pub enum StallEvent {
    /// The session has been silent (`Finding::Silent`) or in a loop (`Finding::Looping`) for longer than its threshold.
    /// `repeats` has the lines of the loop, which are the session's output and may contain anything.
    Stalled { session_id: Id, finding: Finding, repeats: Option<Loop>, silent_for: Duration },
    /// The message should be typed into the session, and `Watched::nudge_sent` be called then.
    AutoNudge { session_id: Id, attempt: u32, attempts_max: u32, message: Arc<str>, silent_for: Duration },
    /// A person should look at the session; nothing more is tried.
    Escalated { session_id: Id, cause: Cause, attempts: u32, silent_for: Duration },
    /// The session showed a sign of life, or after a loop progress, after this time and so many nudges.
    SelfRecovered { session_id: Id, silent_for: Duration, attempts: u32 },
}

/// Whether every escalation of a watch was delivered.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// No escalation was missed.
    Delivered,
    /// The channel was closed when this escalation, the latest, was due.
    Undelivered(StallEvent),
}

impl StallEvent {
    pub fn session_id(&self) -> &Id {
        match self {
            StallEvent::Stalled { session_id, .. }
            | StallEvent::AutoNudge { session_id, .. }
            | StallEvent::Escalated { session_id, .. }
            | StallEvent::SelfRecovered { session_id, .. } => session_id,
        }
    }
}
