//! What an agent is doing, and how that is known.

use std::fmt;

use crate::rules::session::Activity;

/// Where a statement comes from, the least reliable source first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A rule matches what stands on the screen.
    Screen,
    /// The agent reported it to its terminal: by a title, a notification, a status sequence.
    Sequence,
    /// The agent reported it to `sweep watch event`.
    Event,
}

/// How a statement is known, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    pub source: Source,
    /// The rule, the sequence or the event, and the lines of the screen: `rule claude/permission, lines 14 to 19`.
    pub what: String,
}

impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.what)
    }
}

/// What an agent is doing at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    pub activity: Activity,
    /// `permission`, `trust`, `login`, `password`, `confirmation`, `choice`, `question`, `enter`; `context`, `quota`.
    pub kind: Option<String>,
    /// The question that it asks, on one line; empty if it asks none.
    pub question: String,
    /// When its quota is available again, in its own words.
    pub resumes: Option<String>,
    pub evidence: Evidence,
}
