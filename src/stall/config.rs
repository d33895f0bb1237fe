//! The limits of a detector.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;

use crate::rules::Policy;

/// What counts as a stall, and what is done about it. The defaults are those of `Policy`.
#[derive(Clone, Debug, PartialEq)]
pub struct StallConfig {
    /// A session that is silent, or in a loop, for longer is stalled.
    pub silent_after: Duration,
    /// The delay between two nudges, and between the last one and the escalation.
    pub nudge_delay: Duration,
    /// How many nudges an episode has.
    pub nudges_max: u32,
    /// The message that `AutoNudge` asks to be typed.
    pub nudge_message: Arc<str>,
    /// How many nudges are sent in 24 hours, and how many escalations (at least one), over all episodes.
    pub attempts_per_day_max: u32,
}

impl Default for StallConfig {
    fn default() -> StallConfig {
        let policy = Policy::default();
        StallConfig {
            silent_after: policy.session_silent_after.to_std().unwrap_or_default(),
            nudge_delay: policy.nudge_delay.to_std().unwrap_or_default(),
            nudges_max: policy.nudges_max,
            nudge_message: policy.nudge_message.into(),
            attempts_per_day_max: policy.attempts_per_day_max,
        }
    }
}

impl StallConfig {
    /// The policy of a sweep with these limits.
    pub(super) fn policy(&self) -> Policy {
        Policy {
            session_silent_after: time_delta(self.silent_after),
            nudge_delay: time_delta(self.nudge_delay),
            nudges_max: self.nudges_max,
            nudge_message: self.nudge_message.to_string(),
            attempts_per_day_max: self.attempts_per_day_max,
            ..Policy::default()
        }
    }
}

/// Cuts a duration to a century, which can be added to any moment of a clock that began at zero.
fn time_delta(duration: Duration) -> TimeDelta {
    let century = TimeDelta::days(36_500);
    TimeDelta::from_std(duration).map_or(century, |delta| delta.min(century))
}
