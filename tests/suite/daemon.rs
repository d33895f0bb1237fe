//! `sweep daemon`: the built binary, with real signals and a real clock.

mod deliveries;
mod http;
mod hung_sweeps;
mod listen_urls;
mod outages;
mod overlap;
mod reactions;
mod refused_starts;
mod reload;
mod resumed_at_once;
mod run_end_triggers;
mod schedules;
mod service_managers;
mod several_databases;
mod signals;
mod watched_files;
