//! The rules in words: what reports, comments and logs say of a finding, a reason, a decision.

use super::{Cause, Decision, Finding, Id, Kind, Reason, Unavailable};
use chrono::TimeDelta;
use std::fmt::{Display, Formatter, Result};

/// A duration as people say it, in its two largest units: `3h 12m`, `45s`.
pub struct Spoken(pub TimeDelta);

impl Display for Spoken {
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

impl Display for Id {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&self.0)
    }
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Issue, Kind::Step];

    pub fn name(self) -> &'static str {
        match self {
            Kind::Issue => "issue",
            Kind::Step => "step",
        }
    }

    pub fn plural(self) -> &'static str {
        match self {
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

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(match self {
            Finding::Orphaned => "orphaned",
            Finding::Stalled => "stalled",
        })
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Reason::NotInProgress(status) => write!(f, "it is {}", status.replace('_', " ")),
            Reason::PlanNotOpen(status) => write!(f, "its plan is {}", status.replace('_', " ")),
            Reason::NoAgentAssigned => f.write_str("no agent is assigned"),
            Reason::AssignedToUser => f.write_str("a person has it"),
            Reason::LiveRun => f.write_str("a run is live"),
            Reason::PendingWake => f.write_str("a wake is queued"),
            Reason::StuckWake(age) => write!(f, "stuck wake: queued for {}", Spoken(*age)),
            Reason::DeclaredWait(what) => write!(f, "it waits: {what}"),
            Reason::Recent => f.write_str("it is not idle for long enough"),
            Reason::PlanStillStalled => f.write_str("it healed, another step of its plan has not"),
            Reason::Escalated => f.write_str("escalated, a person has not answered yet"),
        }
    }
}

impl Display for Unavailable {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Unavailable::NoSuchAgent => f.write_str("its agent does not exist"),
            Unavailable::Status { name, status } => write!(f, "{name} is {}", status.replace('_', " ")),
            Unavailable::Obstacle(why) => f.write_str(why),
        }
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(match self {
            Cause::Exhausted => "no attempt is left",
            Cause::TooManyAttempts => "too many continuations in 24 hours",
            Cause::NoAgent => "the plan has no agent to wake",
        })
    }
}

/// Why this was decided.
impl Display for Decision {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Decision::Leave(reason) | Decision::Recovered(reason) => reason.fmt(f),
            Decision::Skip(unavailable) => unavailable.fmt(f),
            Decision::Wait { until } => write!(f, "next attempt after {}", until.format("%H:%M:%S UTC")),
            Decision::Continue { .. } => f.write_str("nobody is working on it"),
            Decision::Escalate(cause) => cause.fmt(f),
        }
    }
}

/// Text that others wrote, on one line and without control characters: neither a row nor a driver's message may
/// change a reader's terminal. What is printed goes through `text::shown`, which hides credentials as well.
pub fn one_line(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().filter(|c| !c.is_control()).collect()
}
