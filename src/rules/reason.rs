//! Why a subject is left as it is.

use std::fmt::{Display, Formatter, Result};

use chrono::TimeDelta;

use super::display::{humanize, queued_for};
use super::{History, OpenRecovery, Whose};

/// Why a subject is left as it is.
#[derive(Clone, Debug, PartialEq)]
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

pub(super) const STUCK_WAKE: &str = "stuck wake";

/// Of an issue, of a step or plan, of a session or run: finished, or to be taken up again by the host itself.
const FINISHED_OR_TO_DO: [&str; 11] = [
    "done", "in_review", "todo", "completed", "skipped", "pending", "terminated", "succeeded", "created", "queued",
    "scheduled_retry",
];

impl Reason {
    /// Has the subject healed, so that an open attempt or escalation may be closed? A run or a moment of quiet
    /// that is only the continuation's own proves nothing: then the episode is still the old one.
    pub(super) fn settles(&self, history: &History, open: &OpenRecovery) -> bool {
        match self {
            Reason::NotInProgress(_)
            | Reason::PlanNotOpen(_)
            | Reason::IssueFinished(_)
            | Reason::EndedWell
            | Reason::NoAgentAssigned
            | Reason::AssignedToUser
            | Reason::DeclaredWait(_) => true,
            Reason::LiveRun | Reason::Recent => history.is_newer_than(open),
            Reason::PendingWake
            | Reason::HostPlans(_)
            | Reason::PendingCommand
            | Reason::StuckWake(_)
            | Reason::PlanStillStalled
            | Reason::Exempt(..)
            | Reason::Escalated => false,
        }
    }

    /// A subject has recovered if and only if its work goes on or is finished; else what is open is handed over: to its
    /// host, which blocked or ended the work, holds it back or has a status that nobody knows, or to a person.
    pub(super) fn goes_on_or_is_finished(&self) -> bool {
        match self {
            Reason::NotInProgress(status) | Reason::PlanNotOpen(status) | Reason::IssueFinished(status) => {
                FINISHED_OR_TO_DO.contains(&status.as_str())
            }
            Reason::LiveRun | Reason::Recent | Reason::EndedWell => true,
            Reason::NoAgentAssigned
            | Reason::AssignedToUser
            | Reason::DeclaredWait(_)
            | Reason::PendingWake
            | Reason::HostPlans(_)
            | Reason::PendingCommand
            | Reason::StuckWake(_)
            | Reason::PlanStillStalled
            | Reason::Exempt(..)
            | Reason::Escalated => false,
        }
    }

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
