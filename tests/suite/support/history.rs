//! The facts of a subject's past, made up.

use chrono::{DateTime, Utc};
use sweep::rules::History;

/// A subject that has been idle since this moment, about which nothing was ever done.
pub fn never_tried(at: DateTime<Utc>) -> History {
    History {
        observed_at: at,
        idle_since: at,
        episode_began_at: at,
        attempts: 0,
        attempts_unserved: 0,
        attempts_last_day: 0,
        last_attempt_at: None,
        last_attempt_ended_at: None,
        escalated: false,
        abandoned: false,
        escalations_last_day: 0,
        open: None,
        exemption: None,
    }
}
