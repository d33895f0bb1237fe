//! What a session's row says of its process, and by how much a glimpse of it differs.

use std::time::Instant;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::screen::{Known, resumes_at};
use crate::store::supervision::{AgentState, Changes, Close};
use crate::store::types::Instant as Moment;
use crate::supervisor::record::Glimpse;
use crate::text::shown;

/// What the row says of the process.
#[derive(Default)]
pub struct Written {
    active_at: Option<Instant>,
    progressed_at: Option<Instant>,
    recent_output: Vec<String>,
    state: Option<Known>,
    takes_nudges: Option<bool>,
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
    pub fn changes(&self, glimpse: &Glimpse, at: impl Fn(Instant) -> DateTime<Utc>, zone: Tz) -> Changes {
        let newer = |seen: Option<Instant>, known| seen.filter(|_| seen != known).map(|seen| Moment(at(seen)));
        let end = glimpse.end.filter(|_| !self.has_ended);
        Changes {
            last_activity_at: newer(glimpse.active_at, self.active_at),
            last_progress_at: newer(glimpse.progressed_at, self.progressed_at),
            recent_output: (glimpse.recent_output != self.recent_output).then(|| glimpse.recent_output.join("\n")),
            ended_at: end.map(|end| Moment(at(end.at))),
            exit_code: end.and_then(|end| end.exit_code),
            takes_nudges: Some(glimpse.takes_nudges).filter(|takes| self.takes_nudges != Some(*takes)),
            state: (glimpse.state != self.state || self.takes_nudges.is_none())
                .then(|| state_of(glimpse.state.as_ref(), &at, zone)),
        }
    }

    pub fn now_says(&mut self, glimpse: &Glimpse, at: Instant) {
        let Glimpse { active_at, progressed_at, recent_output, state, takes_nudges, end, is_stopped: _ } = glimpse;
        *self = Written {
            active_at: *active_at,
            progressed_at: *progressed_at,
            recent_output: recent_output.clone(),
            state: state.clone(),
            takes_nudges: Some(*takes_nudges),
            has_ended: end.is_some(),
            at: Some(at),
        };
    }
}

/// What the row says of the agent; without one that it is unknown.
fn state_of(known: Option<&Known>, at: impl Fn(Instant) -> DateTime<Utc>, zone: Tz) -> AgentState {
    let Some(Known { statement, since, .. }) = known else { return AgentState::default() };
    let since = at(*since);
    let question = Some(shown(&statement.question)).filter(|question| !question.is_empty());
    AgentState {
        agent_state: Some(statement.activity.name()),
        agent_state_kind: statement.kind.clone(),
        agent_state_since: Some(Moment(since)),
        agent_question: question,
        agent_state_evidence: Some(shown(&statement.evidence.what)),
        resumes_at: statement.resumes.as_deref().and_then(|words| resumes_at(words, since, zone)).map(Moment),
    }
}
