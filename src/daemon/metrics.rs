//! The metrics of this process; what the database knows is added to them.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::state::{Database, State};

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Ended {
    ended: &'static str,
}

/// Adds this process's to a registry that is made for one answer.
pub fn register(state: &State, registry: &mut Registry) {
    let sweeps = Family::<Ended, Counter>::default();
    let ends = [("completed", state.completed), ("failed", state.failed), ("interrupted", state.interrupted)];
    for (ended, count) in ends {
        sweeps.get_or_create(&Ended { ended }).inc_by(count);
    }
    registry.register("sweep_daemon_sweeps", "Sweeps of this process, by how they ended", sweeps);
    let run_ends = Counter::<u64>::default();
    run_ends.inc_by(state.run_ends);
    registry.register("sweep_daemon_run_ends", "Run ends that this process has heard of", run_ends);
    let mut gauge = |name, help, value: i64| registry.register(name, help, ConstGauge::new(value));
    if let Some(next) = state.next_sweep {
        gauge("sweep_daemon_next_sweep_timestamp_seconds", "When the next sweep is due", next.timestamp());
    }
    let is_up = state.database == Database::Up;
    gauge("sweep_daemon_database_up", "The last sweep or look found the database in order", is_up.into());
    gauge("sweep_daemon_hung", "A sweep makes no progress", state.hung_for.is_some().into());
    gauge("sweep_daemon_listening", "Run ends are heard of", state.is_listening.into());
}

/// All that there is to tell, as OpenMetrics has it.
pub fn text(state: &State) -> String {
    let mut registry = Registry::default();
    register(state, &mut registry);
    let mut text = String::new();
    match encode(&mut text, &registry) {
        Ok(()) => text,
        Err(std::fmt::Error) => String::new(),
    }
}
