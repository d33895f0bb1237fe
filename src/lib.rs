//! `sweep` finds stranded work in the database of an agent control plane and restores one invariant: *work in progress
//! has a live run, a queued wake, a declared wait, or has been escalated to a person*.
//!
//! ```text
//! main → commands → [daemon →] unattended → sweep → store → rules
//!                                   │         │       │       └ pure: facts in, decision out
//!                                   │         │       └ PostgreSQL and SQLite behind one set of queries; the hosts are views, in SQL
//!                                   │         └ scan · then per subject: lock, facts, decide, write, commit · close
//!                                   └ pings, notifications and metrics
//! ```
//!
//! What always holds, and where:
//! - a decision is made in `rules::decide` and nowhere else, from one row of facts, by the database's clock;
//! - one subject is one transaction (`sweep::examine`): lock first, then read, then write;
//! - no row lock is waited for while another is held, and a foreign-key check gives way before its host must (`store`);
//! - the ledger's unique index bounds the attempts even if every lock failed (`store::ledger`);
//! - the environment is read in `settings` only.

#![forbid(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod daemon;
pub mod exit;
pub mod files;
pub mod metrics;
pub mod notify;
pub mod parse;
pub mod report;
pub mod rules;
pub mod schedule;
pub mod settings;
pub mod stall;
pub mod store;
pub mod supervisor;
pub mod sweep;
pub mod telemetry;
pub mod text;
pub mod unattended;
