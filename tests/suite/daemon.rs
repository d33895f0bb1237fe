//! `sweep daemon`: the built binary, with real signals and a real clock.

mod deliveries;
pub mod fixture;
mod http;
mod hung;
mod listening;
mod managers;
mod outages;
mod overlap;
mod reactions;
mod refused;
mod reload;
mod schedules;
mod signals;
