//! One subject's line in a report.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

use crate::rules::{Finding, Id, Kind};
pub use crate::store::work::counts::Outcome;
use crate::text::{redact, redact_id};

/// The cause of a subject's failure: its own fault, or another's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fault {
    /// The subject's own fault, as far as is known.
    #[default]
    Own,
    /// The database was full, or went away.
    Outage,
    /// The role lacks a right.
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
    /// How far its latest sign of life lies in the future: it counts as healthy until then.
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
