//! Who has a subject, and whether he can be woken.

use std::fmt::{Display, Formatter, Result};

use super::display::humanize;
use super::{After, Id, Policy};

/// Who would be woken.
#[derive(Clone, Debug, PartialEq)]
pub enum Assignee {
    /// Nobody: a plan whose client pulls.
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

/// Those in which nobody is to wake it for now: that its work and its wakes wait is meant.
pub const RESTING: [&str; 2] = ["paused", "pending_approval"];

/// The one that is for ever: nobody takes up its work or its wakes.
pub const TERMINATED: &str = "terminated";

impl Unavailable {
    /// For how long the work of such an agent may be idle before people hear of it.
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
            // Paused, terminated, pending approval, or a status that we do not know.
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

    /// Who it is, and whether he can be woken.
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
