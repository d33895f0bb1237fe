//! What should be done about a subject, and why: decisions, causes of escalations, reasons to leave a subject alone.

use std::fmt::{Display, Formatter, Result};

use chrono::{DateTime, TimeDelta, Utc};

use super::display::{format_utc, humanize, queued_for};
use super::{History, OpenRecovery, Unavailable, Whose};

/// What should be done about a subject.
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
    /// Its assignee could not be woken for so long that a person must hear of it, once: nothing of it is touched.
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
#[derive(Clone, Debug, PartialEq, Eq, strum::Display)]
pub enum Cause {
    /// The agent waits for a person: what it says, in words.
    #[strum(to_string = "it {0}")]
    Asks(String),
    /// The session's process ended, and is not started again: how it ended, in words.
    #[strum(to_string = "it crashed {0}")]
    Crashed(String),
    /// The session moves, and does nothing new.
    #[strum(to_string = "it moves, and does nothing new")]
    NoProgress,
    /// Nothing may be typed into the session: it is not known to be idle at its prompt.
    // decisions.md#an-unknown-prompt
    #[strum(to_string = "nothing is typed into it, since it is not known to be idle at its prompt")]
    NotAtPrompt,
    /// As many continuations as an episode may have did not help.
    #[strum(to_string = "no attempt is left")]
    Exhausted,
    /// An episode may have none.
    #[strum(to_string = "automatic continuation is off")]
    NotAllowed,
    /// `attempts_per_day_max` continuations in 24 hours.
    #[strum(to_string = "too many continuations in 24 hours")]
    TooManyAttempts,
    /// There is no agent to wake.
    #[strum(to_string = "the plan has no agent to wake")]
    NoAgent,
    /// The host would take no wake up: why.
    #[strum(to_string = "{0}")]
    WakesInVain(String),
    /// The session takes no commands.
    #[strum(to_string = "it takes no commands")]
    NoChannel,
    /// The session's supervisor left a command where it was.
    // decisions.md#a-command-that-is-not-taken
    #[strum(to_string = "nobody delivers commands to it")]
    NotDelivered,
}

impl Decision {
    /// The decision's name in reports.
    pub fn name(&self) -> &'static str {
        self.into()
    }

    /// What a sweep does by this decision, in words.
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

    /// What would have to happen for another decision about the subject.
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
                "it is started again, a pause (sweep session pause), or an exemption (sweep exempt add)"
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

/// Why the decision was made.
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

/// Why a subject is left as it is. The views give reasons these names.
#[derive(Clone, Debug, PartialEq, strum::EnumIter, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Reason {
    NotInProgress(String),
    /// The plan's status: neither executing nor stalled.
    PlanNotOpen(String),
    /// The session's issue is done or cancelled.
    IssueFinished(String),
    NoAgentAssigned,
    AssignedToUser,
    LiveRun,
    PendingWake,
    /// A nudge, or a relaunch, is on its way.
    PendingCommand,
    /// Pending for longer than `wake_stuck_after`: for this long; negative: its time lies in the future.
    StuckWake(TimeDelta),
    DeclaredWait(String),
    /// Its host is not done with its last run: what it still does about it.
    #[strum(serialize = "host_plan")]
    HostPlans(String),
    /// Its grace or threshold has not passed, or its timestamp lies in the future.
    Recent,
    /// Its process ended with exit code 0.
    EndedWell,
    /// It healed, but its plan has another stalled step.
    PlanStillStalled,
    /// An operator said that it, or all that its agent or its tenant has, is in progress on purpose: why.
    Exempt(Whose, String),
    /// A person has been notified and has not answered.
    Escalated,
}

/// How a wake is called that nobody takes up.
pub(super) const STUCK_WAKE: &str = "stuck wake";

/// The statuses of work that is finished, or that its host takes up again itself: of issues, steps, plans, sessions and
/// runs.
const FINISHED_OR_TO_DO: [&str; 11] = [
    "done", "in_review", "todo", "completed", "skipped", "pending", "terminated", "succeeded", "created", "queued",
    "scheduled_retry",
];

impl Reason {
    /// What becomes of what is open in the ledger, if anything. A subject has recovered whose work goes on or is
    /// finished. Else it is handed over: to its host, which blocked or ended the work, holds it back or has a status
    /// that nobody knows, or to a person. A run or a moment of quiet that is only the continuation's own proves
    /// nothing: then the episode is still the old one.
    pub(super) fn settlement(&self, history: &History, open: &OpenRecovery) -> Option<fn(Reason) -> Decision> {
        match self {
            Reason::NotInProgress(status) | Reason::PlanNotOpen(status) | Reason::IssueFinished(status) => {
                let goes_on_or_is_finished = FINISHED_OR_TO_DO.contains(&status.as_str());
                Some(if goes_on_or_is_finished { Decision::Recovered } else { Decision::HandedOver })
            }
            Reason::EndedWell => Some(Decision::Recovered),
            Reason::LiveRun | Reason::Recent => history.is_newer_than(open).then_some(Decision::Recovered),
            Reason::NoAgentAssigned | Reason::AssignedToUser | Reason::DeclaredWait(_) => Some(Decision::HandedOver),
            Reason::PendingWake
            | Reason::HostPlans(_)
            | Reason::PendingCommand
            | Reason::StuckWake(_)
            | Reason::PlanStillStalled
            | Reason::Exempt(..)
            | Reason::Escalated => None,
        }
    }

    /// What would have to happen for the subject not to be left.
    pub(super) fn what_would_change_it(&self) -> &'static str {
        match self {
            Reason::NotInProgress(_) => "it is set to work",
            Reason::PlanNotOpen(_) => "its plan is executing again",
            Reason::IssueFinished(_) => "its issue is opened again",
            Reason::NoAgentAssigned => "an agent is assigned",
            Reason::AssignedToUser => "an agent has it, and no person",
            Reason::LiveRun => "its run ends, and nothing follows",
            Reason::PendingWake => "its wake is taken up, or waits for so long that it counts as stuck",
            Reason::PendingCommand => "the command is delivered, or left for so long that a person is notified",
            Reason::StuckWake(_) => "the wake is taken up or cancelled; see why the host leaves it",
            Reason::DeclaredWait(_) => "the wait ends",
            Reason::HostPlans(_) => "the host does what it has planned, or gives it up",
            Reason::Recent => "more time without a sign of life",
            Reason::EndedWell => "it is started again",
            Reason::PlanStillStalled => "the other stalled steps of its plan heal",
            Reason::Exempt(Whose::Subject, _) => "its exemption ends, or is removed (sweep exempt remove)",
            Reason::Exempt(Whose::Agent, _) => "its agent's exemption ends, or is removed (sweep exempt remove agent)",
            Reason::Exempt(Whose::Tenant, _) => {
                "its tenant's exemption ends, or is removed (sweep exempt remove tenant)"
            }
            Reason::Escalated => {
                "a person answers: another status, another assignee, a new run; or it shows a sign of life"
            }
        }
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
            Reason::Exempt(Whose::Subject, why) => write!(f, "exempt: {why}"),
            Reason::Exempt(whose, why) => write!(f, "its {} is exempt: {why}", whose.name()),
            Reason::Escalated => f.write_str("escalated, a person has not answered yet"),
        }
    }
}
