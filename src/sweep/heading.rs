//! What a report is of: how the sweep went about it, which database, and with what rules.

use serde::{Deserialize, Serialize};

use crate::rules::{Id, Policy};
use crate::text::{redact, redact_id};

/// The version of the JSON report.
pub const SCHEMA: u32 = 1;

/// The head of a report; a plan is applied only where its own is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heading {
    pub schema: u32,
    pub mode: Mode,
    pub host: String,
    /// Which database it is: the id that `sweep migrate` gave it and its name, or the file.
    pub database: String,
    /// The latest migration.
    pub schema_version: String,
    pub policy: Policy,
    /// The newest sweeps that the database knew of, the latest first: a copy of it soon knows others. Empty as well
    /// when this role may not read them.
    #[serde(default)]
    pub newest_sweeps: Vec<Id>,
}

impl Heading {
    /// As it may be printed: a file may be called anything, and so may a nudge.
    pub fn redacted(&self) -> Heading {
        let policy = Policy { nudge_message: redact(&self.policy.nudge_message), ..self.policy.clone() };
        let newest_sweeps = self.newest_sweeps.iter().map(redact_id).collect();
        Heading { database: redact(&self.database), policy, newest_sweeps, ..self.clone() }
    }
}

/// How a sweep goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Mode {
    Sweep,
    DryRun,
    /// Only what a plan says.
    Apply,
}

impl Mode {
    /// As programs read it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
