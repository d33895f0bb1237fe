//! What a person may ask to be done with one subject, and why it is refused.
//!
//! Who asks knows more than a sweep: a request goes on without patience and beyond the bounds, that is the graces and
//! thresholds, `retry_delay`, the attempts of an episode and of a day, and an escalation that nobody has answered. It
//! is refused if and only if it would be wrong now: somebody is at work, something is on its way already, a wait or an
//! exemption holds, or nobody could take it up.

mod objections;

use std::fmt::{Display, Formatter, Result as FormatResult};

use super::{Cause, Clause, ContinueBy, Decision, Facts, Kind, Policy, Reason, Unavailable, Verdict, decide};

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "kebab-case")]
pub enum Request {
    /// Have the agent of an issue or a step go on with it.
    Wake,
    /// Type a message into a session.
    Nudge,
    /// Start a session's process again.
    Relaunch,
    /// Note a sign of life of a session.
    Heartbeat,
    /// Have nobody disturb a session.
    Pause,
    /// End a session's pause.
    Resume,
    /// Give a step up.
    FailStep,
    /// Leave a step out.
    SkipStep,
}

/// A request, and who made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub request: Request,
    pub by: String,
}

/// Why a request is refused, and what would have to happen for it not to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub why: String,
    pub what_would_change_it: String,
    /// What a person runs to change it, where nothing else is wrong and words do not suffice: as the host's facts have
    /// it.
    pub host_commands: Option<String>,
}

/// A subject of which something can be asked.
pub trait Requested: Facts {
    /// Why the request would be wrong now, beside an exemption and an agent who cannot be woken.
    fn objection(&self, request: Request, policy: &Policy) -> Option<Refusal>;
}

impl Request {
    pub const ALL: &[Request] = <Request as strum::VariantArray>::VARIANTS;

    /// As its command is called.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The kinds of subject for which it can be made, in the order in which a name is looked for.
    pub fn kinds(self) -> &'static [Kind] {
        match self {
            Request::Wake => &[Kind::Issue, Kind::Step],
            Request::Nudge | Request::Relaunch | Request::Heartbeat | Request::Pause | Request::Resume => {
                &[Kind::Session]
            }
            Request::FailStep | Request::SkipStep => &[Kind::Step],
        }
    }

    /// How the subject is continued; none where its own row is written.
    pub fn remedy(self) -> Option<ContinueBy> {
        match self {
            Request::Wake => Some(ContinueBy::Wake),
            Request::Nudge => Some(ContinueBy::Nudge),
            Request::Relaunch => Some(ContinueBy::Relaunch),
            Request::Heartbeat | Request::Pause | Request::Resume | Request::FailStep | Request::SkipStep => None,
        }
    }

    /// What was done to the subject.
    fn done(self) -> &'static str {
        match self {
            Request::Wake => "woken",
            Request::Nudge => "nudged",
            Request::Relaunch => "started again",
            Request::Heartbeat => "a sign of life was noted",
            Request::Pause => "its stall detection was paused",
            Request::Resume => "its stall detection was resumed",
            Request::FailStep => "set failed",
            Request::SkipStep => "skipped",
        }
    }
}

impl Display for Asked {
    fn fmt(&self, f: &mut Formatter) -> FormatResult {
        write!(f, "{}, asked for by {}", self.request.done(), self.by)
    }
}

/// May it be done? Then this is the verdict: a continuation; or, where the subject's own row is to be written, what a
/// sweep would decide before that.
pub fn judge(request: Request, facts: &impl Requested, policy: &Policy) -> Result<Verdict, Refusal> {
    let mut objection = facts.objection(request, policy);
    if let Some(refusal) = objection.take_if(|refusal| refusal.host_commands.is_none()) {
        return Err(refusal);
    }
    let verdict = decide(facts, policy);
    let Some(remedy) = request.remedy() else { return Ok(verdict) };
    let history = facts.history();
    if let Some(exemption) = history.exemption.as_ref().filter(|exemption| exemption.holds(history.observed_at)) {
        return Err(Reason::Exempt(exemption.whose, exemption.reason.clone()).into());
    }
    if let Some(unavailable) = facts.assignee().unavailable() {
        return Err(unavailable.into());
    }
    // What the host undoes, if somebody tells it to, is the last thing that is wrong.
    if let Some(refusal) = objection {
        return Err(refusal);
    }
    Ok(Verdict { decision: Decision::Continue { attempt: history.attempts + 1, remedy }, ..verdict })
}

/// The verdict when the subject's own row has been written, by the facts that it has then. A pause, and what was given
/// up, is a person's; a step that is skipped and a session whose pause has ended go on. A sign of life is what a sweep
/// would make of it.
pub fn after(request: Request, facts: &impl Facts, policy: &Policy) -> Verdict {
    let verdict = decide(facts, policy);
    let reason = || facts.diagnose(policy).err().unwrap_or(Reason::Recent);
    let decision = match (request, &verdict.decision) {
        (Request::Pause | Request::FailStep, _) => Decision::HandedOver(reason()),
        (Request::Resume | Request::SkipStep, _) => Decision::Recovered(reason()),
        (Request::Heartbeat, Decision::Recovered(_)) => verdict.decision.clone(),
        (Request::Heartbeat | Request::Wake | Request::Nudge | Request::Relaunch, _) => Decision::Leave(reason()),
    };
    Verdict { decision, ..verdict }
}

impl Refusal {
    fn new(why: impl Into<String>, what_would_change_it: impl Into<String>) -> Refusal {
        Refusal { why: why.into(), what_would_change_it: what_would_change_it.into(), host_commands: None }
    }

    /// The first of these clauses that does not hold, beside those that demand patience alone.
    fn of_first(clauses: Vec<Clause>) -> Option<Refusal> {
        first_failure(clauses).map(Refusal::from)
    }
}

/// Why the first of these clauses does not hold, beside those that demand patience alone.
fn first_failure(clauses: Vec<Clause>) -> Option<Reason> {
    clauses.into_iter().filter(|clause| !clause.is_patience).find_map(|clause| clause.failure)
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Refusal {
        let change = match &reason {
            // It need not wait until the wake counts as stuck, or the command as ignored: those are refused as well.
            Reason::PendingWake => "its wake is taken up, or cancelled",
            Reason::PendingCommand => "the command is delivered, or set failed",
            reason => reason.what_would_change_it(),
        };
        Refusal::new(reason.to_string(), change)
    }
}

impl From<Unavailable> for Refusal {
    fn from(unavailable: Unavailable) -> Refusal {
        let why = unavailable.to_string();
        Refusal::new(why, Decision::Skip(unavailable).what_would_change_it())
    }
}

impl From<Cause> for Refusal {
    fn from(cause: Cause) -> Refusal {
        let change = match &cause {
            Cause::NoAgent => "its plan gets an agent",
            Cause::WakesInVain(_) => "the host puts that right",
            Cause::Asks(_) => "a person answers it",
            Cause::NotAtPrompt => "it is idle at its prompt, and its supervisor says so",
            Cause::NoChannel => "its host has a supervisor that delivers commands",
            Cause::Crashed(_)
            | Cause::NoProgress
            | Cause::Exhausted
            | Cause::NotAllowed
            | Cause::TooManyAttempts
            | Cause::NotDelivered => "time, or a sign of life",
        };
        Refusal::new(cause.to_string(), change)
    }
}

#[cfg(test)]
mod tests;
