//! The metrics, in Prometheus' text format: one text for node_exporter's textfile and for the daemon's /metrics.
//!
//! docs/metrics.md says what each means. All but the daemon's own are read from the database, so that every process
//! says the same.

mod families;
mod file;
mod page;

use std::time::Duration;

use chrono::{DateTime, Utc};
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;

use crate::store::connect::databases::Found;
use crate::store::read::metrics::Reading;
use families::Families;
pub use file::{publish, refuse_path};

/// The media type of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What only the daemon knows; its counters begin with the process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DaemonState {
    /// Sweeps by how they ended.
    pub completed: u64,
    pub failed: u64,
    pub interrupted: u64,
    pub next_sweep_at: Option<DateTime<Utc>>,
    pub databases: Vec<DatabaseState>,
    /// For how long a sweep has made no progress that is taken to hang.
    pub hung_for: Option<Duration>,
    /// How many ends of runs the daemon heard of.
    pub run_ends: u64,
}

/// One database that the daemon sweeps.
#[derive(Clone, Debug, PartialEq)]
pub struct DatabaseState {
    pub found: Found,
    pub condition: Condition,
    /// Does the daemon hear of ends of runs there?
    pub is_listening: bool,
}

/// How a database stood at the last sweep or look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// It was not yet looked at.
    Unknown,
    Up,
    Gone,
    /// Rights, schema or settings are wrong.
    Refuses,
}

/// All that is known of each database that answered, and what the daemon knows by itself.
pub fn text(readings: Vec<(Option<String>, Reading)>, daemon: Option<DaemonState>) -> String {
    let mut registry = Registry::with_prefix("sweep");
    registry.register_collector(Box::new(Families { readings, daemon }));
    let mut text = String::new();
    // Without OpenMetrics' end mark: what Prometheus and node_exporter read is the older format.
    encode_registry(&mut text, &registry).expect("a String takes everything");
    text
}
