//! The comment of an escalation on the issue of a session.

use super::{Session, SessionFacts};
use crate::rules::display::{HumanDuration, Quote, linked};
use crate::rules::issue::tried;
use crate::rules::{Assignee, Cause, Finding, Policy};

/// Markdown. Of the session's output it holds the question that its agent asks, quoted, and nothing else: the rest may
/// hold anything.
/// Its name is a link to its page, if it has one.
pub fn escalation_comment(
    facts: &SessionFacts,
    cause: &Cause,
    policy: &Policy,
    quote: Quote,
    url: Option<&str>,
) -> String {
    let Session { title, identifier, id, .. } = &facts.session;
    let name = linked(quote(identifier.as_ref().unwrap_or(&id.0)), url);
    let agent = match &facts.assignee {
        Assignee::Agent { name: Some(name), .. } => format!(" of {}", quote(name)),
        Assignee::Agent { .. } | Assignee::Nobody => String::new(),
    };
    let session = format!("Session {name}{agent}, running {}", quote(title));
    let happened = facts.happened(policy);
    if let (Finding::Waiting, Some(agent)) = (facts.suspicion(policy), facts.question()) {
        let question = if agent.question.is_empty() { String::new() } else { format!(": {}", quote(&agent.question)) };
        let phrase = agent.phrase();
        return format!(
            "**A session waits for a person.** {session}, {phrase}{question}.\n\n\
             What you can do: look at it and answer it. Nothing was typed into it."
        );
    }
    format!(
        "**A session needs a person.** {session}, is stuck. {happened}\n\n\
         Tried: {tried} ({cause}).\n\n\
         What you can do: look at it and answer it, end it, or start it again. It was left as it is.",
        tried = tried(facts.history.attempts, facts.history.last_attempt_at),
    )
}

impl SessionFacts {
    /// What is wrong with it, in a sentence.
    pub fn happened(&self, policy: &Policy) -> String {
        let now = self.history.observed_at;
        let Session { ended, active_at, progressed_at, .. } = &self.session;
        let no_progress_for = HumanDuration(now - *progressed_at);
        match (self.suspicion(policy), ended, self.question()) {
            (Finding::Waiting, _, Some(agent)) => format!("It {}.", agent.describe()),
            (Finding::Crashed, Some(ended), _) => {
                format!("It crashed {}, {} ago.", ended.describe(), HumanDuration(now - ended.at))
            }
            (Finding::Looping, ..) => format!("It repeats itself and made no progress for {no_progress_for}."),
            (Finding::NoProgress, ..) => format!("It moves, and did nothing new for {no_progress_for}."),
            _ => format!("It showed no sign of life for {}.", HumanDuration(now - *active_at)),
        }
    }
}
