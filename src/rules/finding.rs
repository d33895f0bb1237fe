//! What is wrong with a subject.

use std::fmt::{Display, Formatter, Result};

use serde::{Deserialize, Serialize};

/// What is wrong with a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Finding {
    /// An issue in progress that nobody is working on.
    Orphaned,
    /// A plan step in progress for too long.
    Stalled,
    /// A session that shows no sign of life.
    Silent,
    /// A session that repeats itself.
    Looping,
    /// A session whose process ended before its work.
    Crashed,
    /// A session whose agent asks a person something, or cannot go on without one.
    Waiting,
    /// A session that moves, and does nothing new.
    NoProgress,
}

impl Finding {
    /// As programs read it.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// How its definition begins, before the clauses.
    pub fn definition(self) -> &'static str {
        match self {
            Finding::Orphaned => "An issue is orphaned if and only if:",
            Finding::Stalled => "A plan step is stalled, and nothing is on its way, if and only if:",
            Finding::Silent => "A session is silent, and nothing is on its way, if and only if:",
            Finding::Looping => "A session is looping, and nothing is on its way, if and only if:",
            Finding::Crashed => "A session is crashed, and nothing is on its way, if and only if:",
            Finding::Waiting => "A session waits for a person, and nothing is on its way, if and only if:",
            Finding::NoProgress => "A session is without progress, and nothing is on its way, if and only if:",
        }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(match self {
            Finding::Waiting => "waiting for a person",
            Finding::NoProgress => "without progress",
            finding => finding.name(),
        })
    }
}
