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
    pub databases: Vec<DatabaseState>,
    /// Is a sweep under way that makes no progress?
    pub hung: bool,
    /// Ends of runs that it heard of.
    pub run_ends: u64,
}

/// One that it sweeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DatabaseState {
    /// None: there is only one.
    pub name: Option<String>,
    /// Did it answer when it was last asked?
    pub is_up: bool,
    /// Does the daemon hear of ends of runs there?
    pub is_listening: bool,
}
