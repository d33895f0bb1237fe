//! The word to go on, for an agent that nothing keeps from its task any more: its process was started again, or its
//! quota filled. It is given once, as soon as the agent is idle; what follows from silence follows later.

use std::time::Duration;

use crate::rules::Policy;
use crate::rules::request::{Asked, Request};
use crate::rules::session::Activity;
use crate::supervisor::record::Snapshot;

/// An agent that was started with its task stands at its composer for a moment before it begins.
const IDLE_LASTS: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, Default, PartialEq)]
pub enum Word {
    #[default]
    Given,
    Awaited,
}

impl Word {
    /// What is asked for in its name, if it is to be given now. An agent that goes on by itself needs none.
    pub fn give(&mut self, snapshot: &Snapshot, policy: &Policy) -> Option<Asked> {
        let known = snapshot.activity.as_ref().filter(|_| *self == Word::Awaited)?;
        let is_idle = snapshot.takes_nudges && IDLE_LASTS <= known.since.elapsed();
        if is_idle || known.statement.activity == Activity::Working {
            *self = Word::Given;
        }
        let by = "sweep watch".to_owned();
        (is_idle && 0 < policy.nudges_max).then_some(Asked { request: Request::Nudge, by })
    }
}
