//! The metrics, in Prometheus' text format: one text for node_exporter's textfile and for the daemon's /metrics.
//!
//! docs/metrics.md says what each means. All but the daemon's own are read from the database, so that every process
//! says the same.

mod daemon_state;
mod families;
mod file;
mod page;

use prometheus_client::encoding::text::encode_registry;
use prometheus_client::registry::Registry;

use crate::store::read::metrics::Reading;
pub use daemon_state::{DaemonState, DatabaseState};
use families::Families;
pub use file::{publish, refuse_path};

/// Of the text.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All that is known of each database that answered, and what the daemon knows by itself.
pub fn text(readings: Vec<(Option<String>, Reading)>, daemon: Option<DaemonState>) -> String {
    let mut registry = Registry::with_prefix("sweep");
    registry.register_collector(Box::new(Families { readings, daemon }));
    let mut text = String::new();
    // Without OpenMetrics' end mark: what Prometheus and node_exporter read is the older format.
    encode_registry(&mut text, &registry).expect("a String takes everything");
    text
}
