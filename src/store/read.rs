//! What people and programs are shown of a database: each answer is read in one snapshot, and nothing is written.

mod board;
mod counts;
mod days;
mod effect;
mod items;
pub mod metrics;
mod next_sweep;
pub mod overview;
pub mod plan;
mod remedies;
mod request;
mod scope;
mod snapshot;
mod sources;
mod subject;
mod sweeper;
mod sweeps;
mod undelivered;
