//! What ends an episode is progress, as far as the session's supervisor reports it, else any activity; the output of a
//! loop is none, and neither are the first minutes of a process that was relaunched, else one that crashes at every
//! start would be relaunched for ever.

use chrono::TimeDelta;

use super::SessionFacts;
use crate::rules::detect_loop;

/// So many lines are more than the echo of a nudge and a word in answer.
const ANSWER_MAX: usize = 20;

/// A process that was relaunched shows progress once it has been active for longer.
const PROVEN_AFTER: TimeDelta = TimeDelta::minutes(5);

impl SessionFacts {
    /// With the loop that its output shows, and the signs of life and progress that it shows itself.
    pub(super) fn with_its_own_signs(self) -> SessionFacts {
        let SessionFacts { session, mut history, .. } = self;
        let repeats = detect_loop(&session.recent_output);
        let is_looping = repeats.is_some() || history.open.is_some() && looped_lately(&session.recent_output);
        let sign = if is_looping || session.reports_progress { session.progressed_at } else { session.active_at };
        // A question is news, and an end of what was before it; what flows by beside it is none.
        let sign =
            session.agent.as_ref().filter(|agent| agent.activity.needs_person()).map_or(sign, |agent| agent.since);
        history.idle_since = session.ended.map_or(sign, |ended| ended.at);
        let was_relaunched =
            !history.escalated && history.open.as_ref().is_some_and(|open| open.since < session.started_at);
        if !was_relaunched || PROVEN_AFTER < sign - session.started_at {
            history.progressed(sign);
        }
        SessionFacts { session, history, repeats, ..self }
    }
}

/// The echo of a nudge, or a word in answer, is no end of a loop that was seen on the same screen.
fn looped_lately(output: &[String]) -> bool {
    (1..output.len().min(ANSWER_MAX)).any(|cut| detect_loop(&output[..output.len() - cut]).is_some())
}
