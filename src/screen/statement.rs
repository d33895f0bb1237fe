//! What is known of an agent's state, and how.

use std::fmt;

use crate::rules::session::Activity;

/// Where a statement comes from; a later one of this list is the better witness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// A rule matches what stands on the screen.
    Screen,
    /// The agent said so to its terminal: a title, a notification, a status sequence.
    Sequence,
    /// The agent said so to `sweep watch event`.
    Event,
}

/// How something is known, for people.
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
    /// The words with which it asks, on one line.
    pub question: String,
    /// The words that say when its quota is filled again.
    pub resumes: Option<String>,
    pub evidence: Evidence,
}
