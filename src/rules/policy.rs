//! What the operator allows.

use chrono::TimeDelta;

/// The limits of what a sweep does by itself; durations are not negative.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    pub orphan_grace: TimeDelta,
    pub step_stalled_after: TimeDelta,
    pub wake_stuck_after: TimeDelta,
    pub retry_delay: TimeDelta,
    /// Continuations per episode.
    pub attempts_max: u32,
    /// Continuations in 24 hours, and escalations, however often the episode restarts.
    pub attempts_per_day_max: u32,
    pub escalation: Escalation,
}

impl Default for Policy {
    fn default() -> Self {
        Policy {
            orphan_grace: TimeDelta::minutes(2),
            step_stalled_after: TimeDelta::minutes(30),
            wake_stuck_after: TimeDelta::hours(1),
            retry_delay: TimeDelta::minutes(5),
            attempts_max: 1,
            attempts_per_day_max: 4,
            escalation: Escalation::CommentAndBlock,
        }
    }
}

/// What an escalation does to an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Escalation {
    CommentAndBlock,
    CommentOnly,
}
