//! One subject's line in a report, and what became of it.

use std::fmt::{Display, Formatter};

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::rules::display::humanize;
use crate::rules::{Decision, Finding, Id, Kind, Reason};
use crate::text::{redact, redact_id};

/// What became of the decision about one subject. In a dry run: what would.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Outcome {
    /// One wake, or one command, was queued.
    Continued,
    /// A person was notified.
    Escalated,
    /// It goes on, or is finished; the ledger is closed.
    Recovered,
    /// It is its host's or a person's now; the ledger is closed.
    HandedOver,
    /// Its assignee must not be woken, and people were notified of it.
    Abandoned,
    /// Left to a declared wait, a delay, a stuck wake or a person.
    Waiting,
    /// Its assignee must not be woken.
    Skipped,
    Healthy,
    /// `--apply`: the decision is another one than was planned.
    Changed,
    /// Left to the next sweep: its agent was woken often enough in this one.
    Deferred,
    /// Somebody else has it in hand.
    Busy,
    /// The connection was lost while its commit was under way, and the ledger could not be asked.
    Unknown,
    /// Its row cannot be read.
    Unreadable,
    /// An error; rolled back.
    Failed,
}

impl Outcome {
    pub const ALL: &[Outcome] = <Outcome as strum::VariantArray>::VARIANTS;

    /// Of a decision that was carried out.
    pub fn of(decision: &Decision) -> Outcome {
        match decision {
            Decision::Continue { .. } => Outcome::Continued,
            Decision::Escalate(_) => Outcome::Escalated,
            Decision::Recovered(_) => Outcome::Recovered,
            Decision::HandedOver(_) => Outcome::HandedOver,
            Decision::Abandon(_) => Outcome::Abandoned,
            Decision::Skip(_) => Outcome::Skipped,
            Decision::Wait { .. } => Outcome::Waiting,
            Decision::Leave(
                Reason::DeclaredWait(_) | Reason::StuckWake(_) | Reason::Exempt(..) | Reason::Escalated,
            ) => Outcome::Waiting,
            Decision::Leave(
                Reason::NotInProgress(_)
                | Reason::PlanNotOpen(_)
                | Reason::IssueFinished(_)
                | Reason::EndedWell
                | Reason::PendingCommand
                | Reason::HostPlans(_)
                | Reason::NoAgentAssigned
                | Reason::AssignedToUser
                | Reason::LiveRun
                | Reason::PendingWake
                | Reason::Recent
                | Reason::PlanStillStalled,
            ) => Outcome::Healthy,
        }
    }

    /// As programs read it; for people it is spaced.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Does it cost an agent's or a person's time, or may have?
    pub fn is_costly(self) -> bool {
        matches!(self, Outcome::Continued | Outcome::Escalated | Outcome::Unknown)
    }

    /// Does it count against `--limit`? Of abandoned work people are notified as well.
    pub fn counts_against_limit(self) -> bool {
        self.is_costly() || self == Outcome::Abandoned
    }

    /// Does somebody have to look at it?
    pub fn is_failure(self) -> bool {
        matches!(self, Outcome::Changed | Outcome::Unknown | Outcome::Unreadable | Outcome::Failed)
    }

    /// Was something written?
    pub fn is_change(self) -> bool {
        match self {
            Outcome::Continued | Outcome::Escalated | Outcome::Recovered | Outcome::HandedOver | Outcome::Abandoned => {
                true
            }
            Outcome::Waiting
            | Outcome::Skipped
            | Outcome::Healthy
            | Outcome::Changed
            | Outcome::Deferred
            | Outcome::Busy
            | Outcome::Unknown
            | Outcome::Unreadable
            | Outcome::Failed => false,
        }
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter) -> std::fmt::Result {
        f.write_str(&humanize(self.name()))
    }
}

/// Whose fault it is that a subject failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// Its own, as far as is known.
    #[default]
    Own,
    /// The database was full, or went away.
    Outage,
    /// This role's, which lacks a right.
    Rights,
}

/// One subject in the report; the fields are those of the JSON.
#[derive(Clone, Debug, Serialize)]
pub struct Examined {
    pub kind: Kind,
    pub id: Id,
    pub identifier: Option<String>,
    pub tenant: Option<String>,
    /// Its page in the host's own board. Null: none is known.
    pub url: Option<String>,
    pub finding: Option<Finding>,
    /// Null when it could not be decided.
    pub decision: Option<&'static str>,
    pub reason: String,
    /// Which attempt this is, or how many were made.
    pub attempt: Option<u32>,
    pub attempts_max: u32,
    /// The agent that is, or would be, woken.
    pub agent_id: Option<Id>,
    #[serde(skip)]
    pub agent_name: Option<String>,
    pub idle_seconds: Option<i64>,
    pub outcome: Outcome,
    /// Decided and reported, and never written.
    pub shadow: bool,
    #[serde(skip)]
    pub idle_since: Option<DateTime<Utc>>,
    #[serde(skip)]
    pub fault: Fault,
    /// By how much its latest sign of life lies in the future: it counts as healthy until then.
    #[serde(skip)]
    pub ahead: Option<TimeDelta>,
}

impl Examined {
    /// What people call it, or its id, as it may be shown.
    pub fn name(&self) -> String {
        redact(self.identifier.as_deref().unwrap_or(&self.id.0))
    }

    /// As it may be printed: its texts are others', and on SQLite so are its ids.
    pub fn redacted(&self) -> Examined {
        Examined {
            id: redact_id(&self.id),
            identifier: self.identifier.as_deref().map(redact),
            tenant: self.tenant.as_deref().map(redact),
            reason: redact(&self.reason),
            agent_name: self.agent_name.as_deref().map(redact),
            agent_id: self.agent_id.as_ref().map(redact_id),
            ..self.clone()
        }
    }
}
