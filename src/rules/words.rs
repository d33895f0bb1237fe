//! The rules in words: what reports, comments and logs say of a finding, a reason, a decision.

mod finding;
mod invisible;

use super::{Assignee, Cause, ContinueBy, Decision, Id, Kind, Loop, Reason, Unavailable};
use chrono::{DateTime, TimeDelta, Utc};
pub use invisible::is_invisible;
use std::fmt::{Display, Formatter, Result};

/// A duration as people say it, in its two largest units: `3h 12m`, `45s`.
pub struct HumanDuration(pub TimeDelta);

impl Display for HumanDuration {
    fn fmt(&self, f: &mut Formatter) -> Result {
        let seconds = self.0.num_seconds().max(0);
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
        match (days, hours, minutes) {
            (0, 0, 0) => write!(f, "{seconds}s"),
            (0, 0, _) => write!(f, "{minutes}m"),
            (0, _, 0) => write!(f, "{hours}h"),
            (0, _, _) => write!(f, "{hours}h {minutes}m"),
            (_, 0, _) => write!(f, "{days}d"),
            (_, _, _) => write!(f, "{days}d {hours}h"),
        }
    }
}

pub(super) const STUCK_WAKE: &str = "stuck wake";

/// For how long a wake has been queued: `for 3h`, or that its time cannot be right.
pub(super) fn queued_for(age: TimeDelta) -> String {
    match age < TimeDelta::zero() {
        true => format!("dated {} in the future", HumanDuration(-age)),
        false => format!("for {}", HumanDuration(age)),
    }
}

/// A status as people write it: `in progress`.
pub fn humanize(status: &str) -> String {
    status.replace('_', " ")
}

/// A time in reports: to the second, and always in UTC.
pub fn format_utc(at: DateTime<Utc>) -> String {
    at.format("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// As it may be printed: on SQLite, and in another's process, an id is any text.
impl Display for Id {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&one_line(&self.0))
    }
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Session, Kind::Issue, Kind::Step];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Session => "session",
            Kind::Issue => "issue",
            Kind::Step => "step",
        }
    }

    pub fn plural(self) -> &'static str {
        match self {
            Kind::Session => "sessions",
            Kind::Issue => "issues",
            Kind::Step => "steps",
        }
    }
}

impl Display for Kind {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(self.name())
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Reason::NotInProgress(status) => write!(f, "it is {}", humanize(status)),
            Reason::PlanNotOpen(status) => write!(f, "its plan is {}", humanize(status)),
            Reason::IssueFinished(status) => write!(f, "its issue is {}", humanize(status)),
            Reason::NoAgentAssigned => f.write_str("no agent is assigned"),
            Reason::AssignedToUser => f.write_str("a person has it"),
            Reason::LiveRun => f.write_str("a run is live"),
            Reason::PendingWake => f.write_str("a wake is queued"),
            Reason::PendingCommand => f.write_str("a command is on its way to it"),
            Reason::StuckWake(age) if *age < TimeDelta::zero() => write!(f, "{STUCK_WAKE}: {}", queued_for(*age)),
            Reason::StuckWake(age) => write!(f, "{STUCK_WAKE}: queued {}", queued_for(*age)),
            Reason::DeclaredWait(what) => write!(f, "it waits: {what}"),
            Reason::HostPlans(what) => write!(f, "its host is not done with its last run: {what}"),
            Reason::Recent => f.write_str("it is not idle for long enough"),
            Reason::EndedWell => f.write_str("its process ended as it should"),
            Reason::PlanStillStalled => f.write_str("it healed, another step of its plan has not"),
            Reason::Exempt(why) => write!(f, "exempt: {why}"),
            Reason::Escalated => f.write_str("escalated, a person has not answered yet"),
        }
    }
}

impl Display for Loop {
    fn fmt(&self, f: &mut Formatter) -> Result {
        write!(f, "{} times “{}”", self.times, self.lines.join("”, “"))
    }
}

impl Display for Unavailable {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Unavailable::NoSuchAgent => f.write_str("its agent does not exist"),
            Unavailable::Status { name, status } => write!(f, "{name} is {}", humanize(status)),
            Unavailable::Obstacle(why) => f.write_str(why),
        }
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(match self {
            Cause::Asks(what) => return write!(f, "it {what}"),
            Cause::NoProgress => "it moves, and does nothing new",
            Cause::NotAtPrompt => "nothing is typed into it, since it is not known to be idle at its prompt",
            Cause::Exhausted => "no attempt is left",
            Cause::NotAllowed => "automatic continuation is off",
            Cause::TooManyAttempts => "too many continuations in 24 hours",
            Cause::NoAgent => "the plan has no agent to wake",
            Cause::WakesInVain(why) => return f.write_str(why),
            Cause::NoChannel => "it takes no commands",
            Cause::NotDelivered => "nobody delivers commands to it",
        })
    }
}

impl Assignee {
    /// Who it is, and whether he can be woken.
    pub fn describe(&self) -> String {
        match self {
            Assignee::Nobody => "nobody".to_owned(),
            Assignee::Agent { name, status, id, .. } => {
                let name = name.as_deref().unwrap_or(&id.0);
                format!("{name} ({})", status.as_deref().map_or("no such agent".to_owned(), humanize))
            }
        }
    }
}

impl Decision {
    /// What a sweep does then.
    pub fn announce(&self, attempts_max: u32) -> String {
        match self {
            Decision::Leave(reason) => format!("leave it: {reason}"),
            Decision::Recovered(reason) => format!("record that it recovered: {reason}"),
            Decision::HandedOver(reason) => format!("record that it was handed over: {reason}"),
            Decision::Skip(unavailable) => format!("skip it: {unavailable}"),
            Decision::Abandon(unavailable) => format!("report it as abandoned, and leave it: {unavailable}"),
            Decision::Wait { until } => {
                format!("wait until {}: the last attempt was made, or ended, too short a time ago", format_utc(*until))
            }
            Decision::Continue { attempt, remedy } => {
                let how = match remedy {
                    ContinueBy::Wake => "one wake",
                    ContinueBy::Nudge => "one nudge",
                    ContinueBy::Relaunch => "a relaunch",
                };
                format!("continue it with {how} (attempt {attempt} of {attempts_max})")
            }
            Decision::Escalate(cause) => format!("escalate it to a person: {cause}"),
        }
    }

    /// What would have to happen for another decision.
    pub fn what_would_change_it(&self) -> &'static str {
        match self {
            Decision::Leave(reason) => reason.what_would_change_it(),
            Decision::Recovered(_) => "nothing but a relapse: the next sweep closes what is open in the ledger",
            Decision::HandedOver(_) => "its return to work: the next sweep closes what is open in the ledger",
            Decision::Skip(unavailable) | Decision::Abandon(unavailable) => match unavailable {
                Unavailable::NoSuchAgent => "an agent that exists is assigned",
                Unavailable::Status { .. } => "its agent can be woken again, or another one is assigned",
                Unavailable::Obstacle(_) => "the host takes that obstacle away",
            },
            Decision::Wait { .. } => "time, a sign of life, or an exemption (sweep exempt add)",
            Decision::Continue { .. } => "a run, a wake or another sign of life; or an exemption (sweep exempt add)",
            Decision::Escalate(Cause::Exhausted) => {
                "a run, a wake or another sign of life; an exemption (sweep exempt add); or a higher limit (--attempts-max; for sessions --nudges-max, --relaunches-max)"
            }
            Decision::Escalate(Cause::TooManyAttempts) => {
                "a run, a wake or another sign of life; an exemption (sweep exempt add); or a higher --attempts-per-day-max"
            }
            Decision::Escalate(Cause::NotAllowed) => {
                "a run, a wake or another sign of life; an exemption (sweep exempt add); or a setting that allows continuations"
            }
            Decision::Escalate(Cause::Asks(_)) => "a person answers it, or an exemption (sweep exempt add)",
            Decision::Escalate(Cause::NoProgress) => "something new in its output, or an exemption (sweep exempt add)",
            Decision::Escalate(Cause::NotAtPrompt) => "progress, its end, or an exemption (sweep exempt add)",
            Decision::Escalate(Cause::WakesInVain(_)) => "the host puts that right, or an exemption (sweep exempt add)",
            Decision::Escalate(Cause::NoChannel) => "a sign of life, its end, or an exemption (sweep exempt add)",
            Decision::Escalate(Cause::NotDelivered) => {
                "its supervisor (sweep watch) runs again, or an exemption (sweep exempt add)"
            }
            Decision::Escalate(Cause::NoAgent) => {
                "its plan gets an agent, a run takes it up, or an exemption (sweep exempt add)"
            }
        }
    }
}

impl Reason {
    fn what_would_change_it(&self) -> &'static str {
        match self {
            Reason::NotInProgress(_) => "it is set to work",
            Reason::PlanNotOpen(_) => "its plan is executing again",
            Reason::IssueFinished(_) => "its issue is opened again",
            Reason::NoAgentAssigned => "an agent is assigned",
            Reason::AssignedToUser => "an agent has it, and no person",
            Reason::LiveRun => "its run ends, and nothing follows",
            Reason::PendingWake => "its wake is taken up, or waits for so long that it counts as stuck",
            Reason::PendingCommand => "the command is delivered, or left for so long that a person is told",
            Reason::StuckWake(_) => "the wake is taken up or cancelled; see why the host leaves it",
            Reason::DeclaredWait(_) => "the wait ends",
            Reason::HostPlans(_) => "the host does what it has planned, or gives it up",
            Reason::Recent => "more time without a sign of life",
            Reason::EndedWell => "it is started again",
            Reason::PlanStillStalled => "the other stalled steps of its plan heal",
            Reason::Exempt(_) => "its exemption ends, or is removed (sweep exempt remove)",
            Reason::Escalated => {
                "a person answers: another status, another assignee, a new run; or it shows a sign of life"
            }
        }
    }
}

/// Why this was decided.
impl Display for Decision {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Decision::Recovered(Reason::Recent) => f.write_str("it shows signs of life"),
            Decision::Leave(reason) | Decision::Recovered(reason) | Decision::HandedOver(reason) => reason.fmt(f),
            Decision::Skip(unavailable) | Decision::Abandon(unavailable) => unavailable.fmt(f),
            Decision::Wait { until } => {
                write!(f, "too soon after the last attempt, until {}", until.format("%H:%M:%S UTC"))
            }
            Decision::Continue { remedy, .. } => f.write_str(match remedy {
                ContinueBy::Wake => "nobody is working on it",
                ContinueBy::Nudge => "nudged to go on",
                ContinueBy::Relaunch => "started again",
            }),
            Decision::Escalate(cause) => cause.fmt(f),
        }
    }
}

/// Text that others wrote, on one line and without invisible characters: neither a row nor a driver's message may change a
/// reader's terminal, or say to a machine what people do not see. What is printed goes through `text::redact`, which hides
/// credentials as well.
pub fn one_line(text: &str) -> String {
    let visible: String = text.chars().filter(|c| c.is_whitespace() || !is_invisible(*c)).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How a comment quotes what others wrote: `text::quoted`. The rules do not know what looks like a credential.
pub type Quote = fn(&str) -> String;
