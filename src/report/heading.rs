//! What a report is of: how the sweep went about it, which database, and with what rules.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::rules::Policy;
use crate::text::shown;

/// The version of the JSON report.
pub const SCHEMA: u32 = 1;

/// The head of a report; a plan is applied only where its own is the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Heading {
    pub schema: u32,
    pub mode: Mode,
    pub host: String,
    /// Which database it is: the cluster's number and its name, or the file.
    pub database: String,
    /// The latest migration.
    pub schema_version: String,
    pub policy: Policy,
}

impl Heading {
    /// As it may be printed: a file may be called anything, and so may a nudge.
    pub fn shown(&self) -> Heading {
        let policy = Policy { nudge_message: shown(&self.policy.nudge_message), ..self.policy.clone() };
        Heading { database: shown(&self.database), policy, ..self.clone() }
    }
}

/// How a sweep goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    Sweep,
    DryRun,
    /// Only what a plan says.
    Apply,
}

/// What is done about a kind of subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum KindMode {
    /// It is not looked at.
    Off,
    /// It is decided and reported, never written.
    Shadow,
    #[default]
    On,
}
