//! Subjects: their kinds, their ids, and the agents to which they are assigned.

use std::fmt::{Display, Formatter, Result};

use serde::{Deserialize, Serialize};

use super::display::{humanize, one_line};
use super::{After, Policy};

/// A row's id as its database prints it: a hyphenated uuid.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema), schemars(inline))]
pub struct Id(pub String);

/// The kinds of subject, in the order in which they are swept.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[cfg_attr(feature = "program", derive(schemars::JsonSchema), schemars(inline))]
pub enum Kind {
    Session,
    Issue,
    Step,
}

/// Prints an id on one line: on SQLite, and in a process of others, it may be any text.
impl Display for Id {
    fn fmt(&self, f: &mut Formatter) -> Result {
        f.write_str(&one_line(&self.0))
    }
}

impl Kind {
    pub const ALL: &[Kind] = <Kind as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    pub fn names() -> impl Iterator<Item = &'static str> {
        Kind::ALL.iter().map(|kind| kind.name())
    }

    /// The kind that a row of sweep's own, or of a host, names.
    pub fn parse(name: &str) -> Option<Kind> {
        name.parse().ok()
    }

    pub fn plural(self) -> &'static str {
        match self {
            Kind::Session => "sessions",
            Kind::Issue => "issues",
            Kind::Step => "steps",
        }
    }

    pub fn with_article(self) -> &'static str {
        match self {
            Kind::Session => "a session",
            Kind::Issue => "an issue",
            Kind::Step => "a step",
        }
    }
}

/// The agent that would be woken for a subject.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignee {
    /// No agent: a plan whose client pulls.
    Nobody,
    Agent {
        id: Id,
        /// Null when there is no such agent.
        name: Option<String>,
        /// As stored; null when there is no such agent.
        status: Option<String>,
        /// Why the host says that a wake would do harm although the agent could be woken.
        obstacle: Option<String>,
    },
}

/// Why an assignee cannot be woken.
#[derive(Clone, Debug, PartialEq)]
pub enum Unavailable {
    NoSuchAgent,
    Status { name: String, status: String },
    Obstacle(String),
}

/// The statuses in which an agent can be woken.
pub(super) const WAKEABLE: [&str; 4] = ["active", "idle", "running", "error"];

/// The statuses in which nobody is to wake an agent for now: that its work and its wakes wait is meant.
pub const RESTING: [&str; 2] = ["paused", "pending_approval"];

/// The status of an agent that is gone for ever: nobody takes up its work or its wakes.
pub const TERMINATED: &str = "terminated";

impl Unavailable {
    /// How long the work of an agent that is unavailable in this way may be idle before people hear of it.
    pub(super) fn patience(&self, policy: &Policy) -> After {
        match self {
            Unavailable::NoSuchAgent => policy.abandoned_after,
            Unavailable::Status { status, .. } => match status.as_str() {
                TERMINATED => policy.abandoned_after,
                resting if RESTING.contains(&resting) => policy.paused_after,
                _ => After::Off,
            },
            Unavailable::Obstacle(_) => After::Off,
        }
    }
}

impl Assignee {
    pub(super) fn unavailable(&self) -> Option<Unavailable> {
        let Assignee::Agent { name, status, obstacle, .. } = self else {
            return None;
        };
        let Some(status) = status else {
            return Some(Unavailable::NoSuchAgent);
        };
        match status.as_str() {
            status if WAKEABLE.contains(&status) => obstacle.clone().map(Unavailable::Obstacle),
            // Paused, terminated, pending approval, or a status that is not known.
            _ => Some(Unavailable::Status { name: name.clone().unwrap_or_default(), status: status.clone() }),
        }
    }

    pub fn id(&self) -> Option<&Id> {
        match self {
            Assignee::Nobody => None,
            Assignee::Agent { id, .. } => Some(id),
        }
    }

    /// The agent's id, if there is such an agent.
    pub fn existing_id(&self) -> Option<&Id> {
        match self {
            Assignee::Agent { id, status: Some(_), .. } => Some(id),
            Assignee::Agent { .. } | Assignee::Nobody => None,
        }
    }

    /// The agent's name and status, in words.
    pub fn describe(&self) -> String {
        match self {
            Assignee::Nobody => "nobody".to_owned(),
            Assignee::Agent { name, status, id, .. } => {
                let name = name.as_deref().unwrap_or(&id.0);
                format!("{name} ({})", status.as_deref().map_or("no such agent".to_owned(), humanize))
            }
        }
    }
}

impl Display for Unavailable {
    fn fmt(&self, f: &mut Formatter) -> Result {
        match self {
            Unavailable::NoSuchAgent => f.write_str("its agent does not exist"),
            Unavailable::Status { name, status } => write!(f, "{name} is {}", humanize(status)),
            Unavailable::Obstacle(why) => f.write_str(why),
        }
    }
}
