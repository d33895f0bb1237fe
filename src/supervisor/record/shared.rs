//! A record that several threads share.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{Nudges, Record, Snapshot};
use crate::screen::Agent;

/// A record that several threads share. It is not locked while all processes are looked at: a person's keys would wait.
#[derive(Clone)]
pub struct SharedRecord(Arc<Mutex<Record>>);

impl SharedRecord {
    pub fn new(nudges: Nudges) -> SharedRecord {
        SharedRecord(Arc::new(Mutex::new(Record::new(nudges))))
    }

    /// Locks the record; a thread that panicked while it held the lock left the record valid.
    pub fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Children that compute are progress until so long after the latest other progress.
    pub fn snapshot(&self, computing_max: Duration) -> Snapshot {
        let is_alone = self.shows_its_composer();
        self.lock().snapshot(is_alone, computing_max, Instant::now())
    }

    /// Why nothing may be typed now, and whether the screen is being drawn.
    pub fn assess_refusal(&self) -> (Option<String>, bool) {
        let is_alone = self.shows_its_composer();
        let (now, mut record) = (Instant::now(), self.lock());
        (record.assess_refusal(is_alone, now), record.is_drawing(now))
    }

    /// Whether the screen shows an idle composer, and keys would reach the agent itself.
    fn shows_its_composer(&self) -> bool {
        self.lock().shows_composer(Instant::now()) && self.reads_alone()
    }

    /// Whether keys reach the agent itself, as far as each look finds out: no child that it lets read is behind what
    /// looks like its composer. Where the operator vouches for the program, that is found out once, before anything is
    /// typed.
    pub fn reads_alone(&self) -> bool {
        let is_vouched_for = self.lock().agent.is_some_and(Agent::is_vouched_for);
        is_vouched_for || self.has_no_other_reader()
    }

    /// Whether only the program itself could read what is typed: a look at all processes.
    pub fn has_no_other_reader(&self) -> bool {
        let probe = self.lock().probe.clone();
        probe.reads_alone()
    }
}
