//! What should be done about a subject, and why.

use std::fmt::{Display, Formatter, Result};

use chrono::{DateTime, Utc};

use super::display::format_utc;
use super::session::Ended;
use super::{Reason, Unavailable};

/// What should be done.
#[derive(Clone, Debug, PartialEq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Decision {
    Leave(Reason),
    /// It goes on, or is finished: close what is open in the ledger.
    Recovered(Reason),
    /// It is its host's or a person's now: close what is open in the ledger.
    HandedOver(Reason),
    /// Something is wrong, but its assignee must not be woken.
    Skip(Unavailable),
    /// The same, for so long that a person must hear of it, once: nothing of it is touched.
    Abandon(Unavailable),
    /// The last attempt is too young for another one, or ended too short a time ago for a person to be notified.
    Wait {
        until: DateTime<Utc>,
    },
    /// Queue one wake or command.
    Continue {
        attempt: u32,
        remedy: ContinueBy,
    },
    /// Notify a person.
    Escalate(Cause),
}

/// How a subject is continued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinueBy {
    /// Its agent is woken.
    Wake,
    /// A message is typed into it.
    Nudge,
    /// It is started again, in the same place.
    Relaunch,
}

/// Why a person has to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The agent waits for a person: what it says, in words.
    Asks(String),
    /// The session's process ended, and is not started again: how it ended, in words.
    Crashed(String),
    /// The session moves, and does nothing new.
    NoProgress,
    /// Nothing may be typed into the session: it is not known to be idle at its prompt.
    NotAtPrompt,
    /// As many continuations as an episode may have did not help.
    Exhausted,
    /// An episode may have none.
    NotAllowed,
    /// `attempts_per_day_max` continuations in 24 hours.
    TooManyAttempts,
    /// There is no agent to wake.
    NoAgent,
    /// The host would take no wake up: why.
    WakesInVain(String),
    /// The session takes no commands.
    NoChannel,
    /// The session's supervisor left a command where it was.
    NotDelivered,
}

impl Decision {
    /// The decision's name in reports.
    pub fn name(&self) -> &'static str {
        self.into()
    }

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
                "a run, a wake or another sign of life; an exemption (sweep exempt add); or a higher limit of attempts"
            }
            Decision::Escalate(Cause::TooManyAttempts) => {
                "a run, a wake or another sign of life; an exemption (sweep exempt add); or a higher limit of attempts \
                    in a day"
            }
            Decision::Escalate(Cause::NotAllowed) => {
                "a run, a wake or another sign of life; an exemption (sweep exempt add); or a setting that allows \
                    continuations"
            }
            Decision::Escalate(Cause::Asks(_)) => "a person answers it, or an exemption (sweep exempt add)",
            Decision::Escalate(Cause::Crashed(_)) => {
                "it is started again, a pause (sweep pause), or an exemption (sweep exempt add)"
            }
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

impl Display for Cause {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(match self {
            Cause::Asks(what) => return write!(f, "it {what}"),
            Cause::Crashed(how) => return f.write_str(&Ended::crash(how)),
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
