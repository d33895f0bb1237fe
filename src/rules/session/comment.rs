//! The comment of an escalation on the issue of a session.

use super::{Session, SessionFacts};
use crate::rules::issue::tried;
use crate::rules::words::{Quote, Spoken};
use crate::rules::{Assignee, Cause, Facts, Finding, Policy};

/// Markdown. Of the session's output it holds the question that its agent asks, quoted, and nothing else: the rest may hold
/// anything.
pub fn escalation_comment(facts: &SessionFacts, cause: &Cause, policy: &Policy, quote: Quote) -> String {
    let Session { title, identifier, id, ended, active_at, progressed_at, .. } = &facts.session;
    let now = facts.history.observed_at;
    let (silent_for, no_progress_for) = (Spoken(now - *active_at), Spoken(now - *progressed_at));
    let name = quote(identifier.as_ref().unwrap_or(&id.0));
    let agent = match &facts.assignee {
        Assignee::Agent { name: Some(name), .. } => format!(" of {}", quote(name)),
        Assignee::Agent { .. } | Assignee::Nobody => String::new(),
    };
    let session = format!("Session {name}{agent}, running {}", quote(title));
    let happened = match (facts.suspicion(policy), ended, facts.question()) {
        (Finding::Waiting, _, Some(agent)) => {
            let question = if agent.question.is_empty() { String::new() } else { format!(": {}", quote(&agent.question)) };
            return format!(
                "**A session waits for a person.** {session}, {phrase}{question}.\n\n\
                 What you can do: look at it and answer it. Nothing was typed into it.",
                phrase = agent.phrase(),
            );
        }
        (Finding::Crashed, Some(ended), _) => format!("Its process ended {}, {} ago.", ended.describe(), Spoken(now - ended.at)),
        (Finding::Looping, ..) => format!("It repeats itself and made no progress for {no_progress_for}."),
        (Finding::NoProgress, ..) => format!("It moves, and did nothing new for {no_progress_for}."),
        _ => format!("It showed no sign of life for {silent_for}."),
    };
    format!(
        "**A session needs a person.** {session}, is stuck. {happened}\n\n\
         Tried: {tried} ({cause}).\n\n\
         What you can do: look at it and answer it, end it, or start it again. It was left as it is.",
        tried = tried(&facts.history),
    )
}
