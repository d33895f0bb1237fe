//! What a person may ask to be done with one subject, and why it is refused.
//!
//! A person who asks knows more than a sweep: a request goes on without patience and beyond the bounds, that is the
//! graces and thresholds, `retry_delay`, the attempts of an episode and of a day, and an escalation that nobody has
//! answered. It is refused if and only if it would be wrong now: somebody is at work, something is on its way already,
//! a wait or an exemption holds, or nobody could take it up.

use std::fmt::{Display, Formatter, Result as FormatResult};

use super::display::humanize;
use super::facts::no_wake_is_pending;
use super::issue::IssueFacts;
use super::session::SessionFacts;
use super::step::{StepFacts, is_open};
use super::{Cause, Clause, ContinueBy, Decision, Facts, Kind, Policy, Reason, Unavailable, Verdict, decide};

/// What a person may ask for.
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
pub struct RequestRefusal {
    pub why: String,
    pub what_would_change_it: String,
    /// What a person runs to change it, where nothing else is wrong and words do not suffice: as the host's facts have
    /// it.
    pub host_commands: Option<String>,
}

/// A subject of which something can be asked.
pub trait Requested: Facts {
    /// Why the request would be wrong now, beside an exemption and an agent who cannot be woken.
    fn objection(&self, request: Request, policy: &Policy) -> Option<RequestRefusal>;
}

impl Request {
    pub const ALL: &[Request] = <Request as strum::VariantArray>::VARIANTS;

    /// The name of the request's command.
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

    /// How the request continues its subject; None if it writes the subject's own row instead.
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

/// Returns the verdict if the request may be carried out: a continuation; or, where the subject's own row is to be
/// written, what a sweep would decide before that.
///
/// # Errors
/// Why the request is refused.
pub fn judge(request: Request, facts: &impl Requested, policy: &Policy) -> Result<Verdict, RequestRefusal> {
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

impl RequestRefusal {
    fn new(why: impl Into<String>, what_would_change_it: impl Into<String>) -> RequestRefusal {
        RequestRefusal { why: why.into(), what_would_change_it: what_would_change_it.into(), host_commands: None }
    }
}

/// Why the first of these clauses does not hold, beside those that demand patience alone.
fn first_failure(clauses: Vec<Clause>) -> Option<Reason> {
    clauses.into_iter().filter(|clause| !clause.is_patience).find_map(|clause| clause.failure)
}

impl From<Reason> for RequestRefusal {
    fn from(reason: Reason) -> RequestRefusal {
        let change = match &reason {
            // It need not wait until the wake counts as stuck, or the command as ignored: those are refused as well.
            Reason::PendingWake => "its wake is taken up, or cancelled",
            Reason::PendingCommand => "the command is delivered, or set failed",
            reason => reason.what_would_change_it(),
        };
        RequestRefusal::new(reason.to_string(), change)
    }
}

impl From<Unavailable> for RequestRefusal {
    fn from(unavailable: Unavailable) -> RequestRefusal {
        let why = unavailable.to_string();
        RequestRefusal::new(why, Decision::Skip(unavailable).what_would_change_it())
    }
}

impl From<Cause> for RequestRefusal {
    fn from(cause: Cause) -> RequestRefusal {
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
        RequestRefusal::new(cause.to_string(), change)
    }
}

impl Requested for IssueFacts {
    fn objection(&self, _request: Request, policy: &Policy) -> Option<RequestRefusal> {
        // A person has an issue started that is to do and that nothing else will start, and one that its host blocked
        // and says how to go on with.
        let is_blocked_by_host = self.status == "blocked" && self.resume_commands.is_some();
        let is_to_do = self.status == "todo" && (self.unstarted.is_some() || self.declared_wait.is_some());
        let of_status = usize::from(is_to_do || is_blocked_by_host);
        let clauses = self.definition(policy).1.into_iter().skip(of_status);
        let wrong = first_failure(clauses.collect()).map(|reason| match reason {
            Reason::NotInProgress(status) if status == "blocked" => {
                RequestRefusal::new("it is blocked", format!("it is unblocked: {}", self.resume_advice))
            }
            // What is no patience of a sweep's is its host's time.
            Reason::Recent => RequestRefusal::new(
                "its last run ended a moment ago, and its host may be about to say what follows",
                format!("time: its host has {}s", self.run_end_grace.num_milliseconds() as f64 / 1000.0),
            ),
            reason => reason.into(),
        });
        wrong.or_else(|| {
            let refusal = RequestRefusal::new(self.unreachable.clone()?, self.resume_advice.clone());
            Some(RequestRefusal { host_commands: self.resume_commands.clone(), ..refusal })
        })
    }
}

impl Requested for StepFacts {
    fn objection(&self, request: Request, policy: &Policy) -> Option<RequestRefusal> {
        if request.remedy().is_some() {
            let wrong = first_failure(self.definition(policy).1).map(RequestRefusal::from);
            return wrong.or_else(|| self.unreachable(policy).map(RequestRefusal::from));
        }
        let (statuses, expected): (&[&str], _) = match request {
            Request::SkipStep => (&["pending", "in_progress"], "it is pending or in progress"),
            _ => (&["in_progress"], "it is in progress"),
        };
        let wake = no_wake_is_pending(&self.history, self.pending_wake_since, self.pending_wake.as_deref(), policy);
        let has_live_run = self.runs.are_live(self.history.observed_at, policy);
        match (statuses.contains(&self.step.status.as_str()), has_live_run, wake.failure) {
            (false, ..) => Some(RequestRefusal::new(format!("it is {}", humanize(&self.step.status)), expected)),
            _ if !is_open(&self.plan_status) => Some(Reason::PlanNotOpen(self.plan_status.clone()).into()),
            (true, true, _) => Some(Reason::LiveRun.into()),
            // Nobody takes up a wake that is stuck.
            (true, false, Some(Reason::PendingWake)) => Some(Reason::PendingWake.into()),
            (true, false, _) => None,
        }
    }
}

impl Requested for SessionFacts {
    fn objection(&self, request: Request, _policy: &Policy) -> Option<RequestRefusal> {
        if request == Request::Resume {
            let advice = "it is paused: sweep session pause";
            return (!self.session.is_paused).then(|| RequestRefusal::new("its stall detection is not paused", advice));
        }
        if self.session.status != "active" {
            return Some(Reason::NotInProgress(self.session.status.clone()).into());
        }
        match request {
            Request::Nudge => not_to_be_disturbed(self).or_else(|| not_to_be_typed_into(self)),
            Request::Relaunch => not_to_be_disturbed(self).or_else(|| not_to_be_started(self)),
            Request::Heartbeat => self.session.ended.is_some().then(|| has_ended(self)),
            Request::Pause => {
                self.session.is_paused.then(|| RequestRefusal::new("its stall detection is paused already", PAUSE_ENDS))
            }
            Request::Resume | Request::Wake | Request::FailStep | Request::SkipStep => None,
        }
    }
}

/// What has people and sweeps look after a paused session again.
const PAUSE_ENDS: &str = "its pause ends: sweep session resume";

/// Why nobody may disturb a session now. Any command that is pending keeps another one away, however old it is.
fn not_to_be_disturbed(facts: &SessionFacts) -> Option<RequestRefusal> {
    let finished = facts.issue_is_not_finished().and_then(|clause| clause.failure);
    let wait = || facts.session.declared_wait.clone().map(Reason::DeclaredWait);
    let command = || facts.session.pending_command_since.map(|_| Reason::PendingCommand);
    finished.or_else(wait).or_else(command).map(|reason| match reason {
        Reason::DeclaredWait(_) if facts.session.is_paused => RequestRefusal::new(reason.to_string(), PAUSE_ENDS),
        reason => reason.into(),
    })
}

/// Why nothing may be typed into a session now: keys that are typed at a question would answer it.
fn not_to_be_typed_into(facts: &SessionFacts) -> Option<RequestRefusal> {
    match facts.question() {
        _ if facts.session.ended.is_some() => Some(has_ended(facts)),
        _ if !facts.session.takes_commands => Some(Cause::NoChannel.into()),
        Some(agent) => Some(Cause::Asks(agent.describe()).into()),
        None => (!facts.session.takes_nudges).then(|| Cause::NotAtPrompt.into()),
    }
}

/// Why the process of a session may not be started now.
fn not_to_be_started(facts: &SessionFacts) -> Option<RequestRefusal> {
    let Some(ended) = &facts.session.ended else {
        return Some(RequestRefusal::new(
            "its process runs",
            "its process ends; to type something into it: sweep session nudge",
        ));
    };
    let issue = facts.issue.as_ref();
    match ended.exit_code {
        Some(0) => Some(Reason::EndedWell.into()),
        _ if !facts.session.takes_commands => Some(Cause::NoChannel.into()),
        _ if issue.is_some_and(|issue| issue.has_live_run) => {
            Some(RequestRefusal::new("somebody else is at work on its issue", "that work ends"))
        }
        _ if issue.is_some_and(|issue| issue.pending_wake_since.is_some()) => Some(RequestRefusal::new(
            "a wake for its issue is pending, or another of its sessions is being started",
            "that is taken up, or cancelled",
        )),
        _ => None,
    }
}

fn has_ended(facts: &SessionFacts) -> RequestRefusal {
    let how = facts.session.ended.map(|ended| ended.describe()).unwrap_or_default();
    RequestRefusal::new(format!("its process has ended {how}"), "it is started again: sweep session relaunch")
}

#[cfg(test)]
mod tests;
