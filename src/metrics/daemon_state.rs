//! What the daemon measures of itself.

use chrono::{DateTime, Utc};

/// What only the daemon knows; its counters begin with the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaemonState {
    /// Sweeps by how they ended.
    pub completed: u64,
    pub failed: u64,
    pub interrupted: u64,
    pub next_sweep_at: Option<DateTime<Utc>>,
    /// Did the database answer when it was last asked?
    pub database_up: bool,
    /// Is a sweep under way that makes no progress?
    pub hung: bool,
    /// Does it hear of ends of runs?
    pub listening: bool,
    /// Ends of runs that it heard of.
    pub run_ends: u64,
}
