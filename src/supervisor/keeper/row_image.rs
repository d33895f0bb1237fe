//! What a session's row says of its process, and which columns differ from a snapshot of it.

use std::time::Instant;

use chrono::{DateTime, Utc};
use chrono_tz::Tz;

use crate::screen::{KnownActivity, resumes_at};
use crate::store::db::types::Instant as DbInstant;
use crate::store::work::supervision::{AgentState, Changes, Close};
use crate::supervisor::record::Snapshot;
use crate::text::redact;

/// The row of the process as this watcher last wrote it.
#[derive(Default)]
pub struct RowImage {
    active_at: Option<Instant>,
    progressed_at: Option<Instant>,
    recent_output: Vec<String>,
    activity: Option<KnownActivity>,
    takes_nudges: Option<bool>,
    has_ended: bool,
    pub written_at: Option<Instant>,
}

/// How the session is closed; None if it is not over, or crashed.
pub fn close_of(snapshot: &Snapshot) -> Option<Close> {
    match snapshot.end {
        _ if snapshot.is_stopped => Some(Close::Interrupted),
        Some(end) if end.exit_code == Some(0) => Some(Close::Terminated),
        Some(_) | None => None,
    }
}

impl RowImage {
    /// The columns that differ from a snapshot. `at` converts to the database's clock; `zone` is for times without one.
    pub fn changes(&self, snapshot: &Snapshot, at: impl Fn(Instant) -> DateTime<Utc>, zone: Tz) -> Changes {
        let newer = |seen: Option<Instant>, known| seen.filter(|_| seen != known).map(|seen| DbInstant(at(seen)));
        let end = snapshot.end.filter(|_| !self.has_ended);
        Changes {
            last_activity_at: newer(snapshot.active_at, self.active_at),
            last_progress_at: newer(snapshot.progressed_at, self.progressed_at),
            recent_output: (snapshot.recent_output != self.recent_output).then(|| snapshot.recent_output.join("\n")),
            ended_at: end.map(|end| DbInstant(at(end.at))),
            exit_code: end.and_then(|end| end.code()),
            takes_nudges: Some(snapshot.takes_nudges).filter(|takes| self.takes_nudges != Some(*takes)),
            state: (snapshot.activity != self.activity || self.takes_nudges.is_none())
                .then(|| state_of(snapshot.activity.as_ref(), &at, zone)),
        }
    }

    /// The snapshot was written at this time.
    pub fn written(&mut self, snapshot: &Snapshot, at: Instant) {
        let Snapshot { active_at, progressed_at, recent_output, activity, takes_nudges, end, is_stopped: _ } = snapshot;
        *self = RowImage {
            active_at: *active_at,
            progressed_at: *progressed_at,
            recent_output: recent_output.clone(),
            activity: activity.clone(),
            takes_nudges: Some(*takes_nudges),
            has_ended: end.is_some(),
            written_at: Some(at),
        };
    }
}

/// The agent's state as the row holds it: empty if it is unknown.
fn state_of(known: Option<&KnownActivity>, at: impl Fn(Instant) -> DateTime<Utc>, zone: Tz) -> AgentState {
    let Some(KnownActivity { statement, since, .. }) = known else { return AgentState::default() };
    let since = at(*since);
    let question = Some(redact(&statement.question)).filter(|question| !question.is_empty());
    AgentState {
        agent_state: Some(statement.activity.name()),
        agent_state_kind: statement.kind.clone(),
        agent_state_since: Some(DbInstant(since)),
        agent_question: question,
        agent_state_evidence: Some(redact(&statement.evidence)),
        resumes_at: statement.resumes.as_deref().and_then(|text| resumes_at(text, since, zone)).map(DbInstant),
    }
}
