//! `sweep` finds stranded work in the database of an agent control plane and restores one invariant: *work in progress
//! has a live run, a queued wake, a declared wait, or has been escalated to a person*.
//!
//! ```text
//! main → commands → [daemon →] cycle → sweep → store → rules
//!                                │       │       │       └ pure: facts in, decision out
//!                                │       │       └ PostgreSQL and SQLite behind one set of queries; hosts are views
//!                                │       └ scan · then per subject: lock, facts, decide, write, commit · close
//!                                └ pings, notifications and metrics
//! ```
//!
//! What always holds, and where:
//! - a decision is made in `rules::decide` and nowhere else, from one row of facts, by the database's clock;
//! - one subject is one transaction (`sweep::examine`): lock first, then read, then write;
//! - no row lock is waited for while another is held, and a foreign-key check gives way before its host must (`store`);
//! - the ledger's unique index bounds the attempts even if every lock failed (`store::work::ledger`);
//! - the environment is read in `settings` only.
//!
//! # As a library
//! [`sweep::run`] sweeps once, by plain [`sweep::Options`], and returns a [`sweep::Summary`].
//!
//! `stall` has live detectors for a control plane that holds its sessions in its own process. With `default-features =
//! false` there are only `stall` and the `rules` that it asks: no database, no TLS, no HTTP and no command line.

#![deny(unsafe_code)]

#[cfg(feature = "program")]
pub mod cli;
#[cfg(feature = "program")]
pub mod commands;
#[cfg(feature = "program")]
pub mod conclusion;
#[cfg(feature = "program")]
pub mod cycle;
#[cfg(feature = "program")]
pub mod daemon;
#[cfg(feature = "program")]
pub mod doctor;
#[cfg(feature = "program")]
pub mod files;
#[cfg(feature = "program")]
pub mod http;
#[cfg(feature = "program")]
pub mod mcp;
#[cfg(feature = "program")]
pub mod metrics;
#[cfg(feature = "program")]
pub mod notify;
#[cfg(feature = "program")]
pub mod page;
#[cfg(feature = "program")]
pub mod parse;
#[cfg(feature = "program")]
pub mod report;
pub mod rules;
#[cfg(feature = "program")]
pub mod schedule;
#[cfg(feature = "program")]
pub mod screen;
#[cfg(feature = "program")]
pub mod settings;
pub mod stall;
#[cfg(feature = "program")]
pub mod store;
#[cfg(feature = "program")]
pub mod supervisor;
#[cfg(feature = "program")]
pub mod sweep;
#[cfg(feature = "program")]
pub mod telemetry;
#[cfg(feature = "program")]
pub mod text;
#[cfg(feature = "program")]
pub mod verify;
