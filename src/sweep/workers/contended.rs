//! The agents whose work cannot be shared by workers: one of them found the agent in other hands, or waited in vain for
//! a row, as where a trigger of the host's writes the agent's row, which each worker shares.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::rules::Id;

#[derive(Default)]
pub struct Contended(Mutex<HashSet<Id>>);

impl Contended {
    pub fn add(&self, group: &Id) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(group.clone());
    }

    pub fn has(&self, group: &Id) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(group)
    }
}
