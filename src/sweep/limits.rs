//! What bounds one sweep: how much it may do, how long it may go on, and how often it may wake one agent.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use super::cancel::Cancel;
use super::observer::Progress;
use super::outcome::Outcome;
use super::tally::StopReason;
use crate::rules::Id;

/// The bounds of the sweep as a whole; the coordinator counts.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Continuations, escalations and reports of abandoned work that are left.
    pub left: Option<u32>,
    /// Nothing is begun after it.
    pub deadline: Instant,
    pub cancel: Cancel,
    pub progress: Progress,
    /// Does an outcome take one of those that are left?
    pub counts: fn(Outcome) -> bool,
}

impl Limits {
    /// Must nothing more be begun, although what is in hand may still leave room?
    pub fn are_over(&self) -> bool {
        self.cancel.is_set() || self.deadline <= Instant::now()
    }

    /// Why there is more that this sweep will not see; a signal speaks for itself.
    pub fn stop_reason(&self) -> Option<StopReason> {
        match self {
            Limits { cancel, .. } if cancel.is_set() => None,
            Limits { left: Some(0), .. } => Some(StopReason::Limit),
            Limits { deadline, .. } => (*deadline <= Instant::now()).then_some(StopReason::Deadline),
        }
    }

    pub fn count(&mut self, outcome: Outcome) {
        if (self.counts)(outcome) {
            self.left = self.left.map(|left| left - 1);
        }
    }
}

/// How often each agent was woken in this sweep: recovered work must not stampede one of them.
#[derive(Debug)]
pub struct WakeBudget {
    pub per_agent_max: u32,
    queued: Mutex<HashMap<Id, u32>>,
}

impl WakeBudget {
    pub fn new(per_agent_max: u32) -> WakeBudget {
        WakeBudget { per_agent_max, queued: Mutex::default() }
    }

    /// Takes one of the wakes that are left for this agent, if there is one.
    pub fn take(&self, agent: &Id) -> bool {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        let count = queued.entry(agent.clone()).or_default();
        let is_left = *count < self.per_agent_max;
        *count += u32::from(is_left);
        is_left
    }

    /// It was not queued after all.
    pub fn give_back(&self, agent: &Id) {
        let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = queued.get_mut(agent) {
            *count -= 1;
        }
    }
}
