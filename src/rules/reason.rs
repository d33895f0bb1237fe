//! Why a subject is left as it is.

use chrono::TimeDelta;

use super::{History, OpenRecovery};

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
    /// An operator said that it is in progress on purpose: why.
    Exempt(String),
    /// A person has been told and has not answered.
    Escalated,
}

/// Of an issue, of a step or plan, of a session or run: finished, or to be taken up again by the host itself.
const FINISHED_OR_TO_DO: [&str; 11] = [
    "done",
    "in_review",
    "todo",
    "completed",
    "skipped",
    "pending",
    "terminated",
    "succeeded",
    "created",
    "queued",
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
            Reason::LiveRun | Reason::Recent => open.since < history.episode_began_at,
            Reason::PendingWake
            | Reason::HostPlans(_)
            | Reason::PendingCommand
            | Reason::StuckWake(_)
            | Reason::PlanStillStalled
            | Reason::Exempt(_)
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
            | Reason::Exempt(_)
            | Reason::Escalated => false,
        }
    }
}
