//! What a session's row says of its process, and by how much a glimpse of it differs.

use std::time::Instant;

use chrono::{DateTime, Utc};

use crate::store::supervision::{Changes, Close};
use crate::store::types::Instant as Moment;
use crate::supervisor::record::Glimpse;

/// What the row says of the process.
#[derive(Default)]
pub struct Written {
    active_at: Option<Instant>,
    progressed_at: Option<Instant>,
    recent_output: Vec<String>,
    has_ended: bool,
    pub at: Option<Instant>,
}

/// How a session is closed that is over, and did not crash.
pub fn close_of(glimpse: &Glimpse) -> Option<Close> {
    match glimpse.end {
        _ if glimpse.is_stopped => Some(Close::Interrupted),
        Some(end) if end.exit_code == Some(0) => Some(Close::Terminated),
        Some(_) | None => None,
    }
}

impl Written {
    /// By how much a glimpse differs from what the row says; `at` is the database's clock.
    pub fn changes(&self, glimpse: &Glimpse, at: impl Fn(Instant) -> DateTime<Utc>) -> Changes {
        let newer = |seen: Option<Instant>, known| seen.filter(|_| seen != known).map(|seen| Moment(at(seen)));
        let end = glimpse.end.filter(|_| !self.has_ended);
        Changes {
            last_activity_at: newer(glimpse.active_at, self.active_at),
            last_progress_at: newer(glimpse.progressed_at, self.progressed_at),
            recent_output: (glimpse.recent_output != self.recent_output).then(|| glimpse.recent_output.join("\n")),
            ended_at: end.map(|end| Moment(at(end.at))),
            exit_code: end.and_then(|end| end.exit_code),
        }
    }

    pub fn now_says(&mut self, glimpse: &Glimpse, at: Instant) {
        let Glimpse { active_at, progressed_at, recent_output, end, is_stopped: _ } = glimpse;
        *self = Written {
            active_at: *active_at,
            progressed_at: *progressed_at,
            recent_output: recent_output.clone(),
            has_ended: end.is_some(),
            at: Some(at),
        };
    }
}
