//! The metrics, in Prometheus' text format: one text for node_exporter's textfile and for the daemon's /metrics.
//!
//! docs/metrics.md says what each means. All but the daemon's own are read from the database, so that every process tells
//! the same.

mod families;
mod file;

use chrono::{DateTime, Utc};
use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;

use crate::store::metrics::Reading;
use families::Families;
pub use file::{publish, refuse_path};

/// Of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

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

/// All that can be told; without a reading, since the database does not answer, what the daemon knows by itself.
pub fn text(reading: Option<&Reading>, daemon: Option<&DaemonState>) -> String {
    let mut registry = Registry::with_prefix("sweep");
    registry.register_collector(Box::new(Families { reading: reading.cloned(), daemon: daemon.cloned() }));
    let mut text = String::new();
    // Without OpenMetrics' end mark: what Prometheus and node_exporter read is the older format.
    encode_registry(&mut text, &registry).expect("a String takes everything");
    text
}
