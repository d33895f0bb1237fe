//! The hosts: the control planes whose database sweep knows, and how each is recognised.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use clap::ValueEnum;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_migrations::{EmbeddedMigrations, embed_migrations};

use crate::exit::config;

const NATIVE: EmbeddedMigrations = embed_migrations!("migrations/postgres/native");
const PAPERCLIP: EmbeddedMigrations = embed_migrations!("migrations/postgres/paperclip");
const PAPERCLIP_LISTEN: EmbeddedMigrations = embed_migrations!("migrations/postgres/paperclip_listen");

/// The control plane whose database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Host {
    /// sweep's own tables
    Native,
    /// Paperclip's database
    Paperclip,
}

impl Host {
    pub fn name(self) -> &'static str {
        match self {
            Host::Native => "native",
            Host::Paperclip => "paperclip",
        }
    }

    /// What follows the ledger's migrations on PostgreSQL.
    pub(super) fn migrations(self) -> EmbeddedMigrations {
        match self {
            Host::Native => NATIVE,
            Host::Paperclip => PAPERCLIP,
        }
    }

    /// The host's own tables, in the schema `public`; none when they are sweep's.
    pub(super) fn tables(self) -> Option<&'static [&'static str]> {
        match self {
            Host::Native => None,
            Host::Paperclip => Some(&PAPERCLIP_TABLES),
        }
    }

    /// What only `--with-listen` adds: a trigger on a table of the host's. On tables of our own it is there anyway.
    pub(super) fn listen_migrations(self) -> Option<EmbeddedMigrations> {
        match self {
            Host::Native => None,
            Host::Paperclip => Some(PAPERCLIP_LISTEN),
        }
    }
}

/// Relations by which Paperclip's database is recognised; its views read all of them.
const PAPERCLIP_TABLES: [&str; 14] = [
    "companies",
    "agents",
    "issues",
    "heartbeat_runs",
    "heartbeat_run_watchdog_decisions",
    "agent_wakeup_requests",
    "issue_comments",
    "activity_log",
    "issue_relations",
    "issue_recovery_actions",
    "issue_thread_interactions",
    "issue_approvals",
    "approvals",
    "issue_tree_holds",
];

/// The host of a PostgreSQL database where sweep has never been. Refuses one that it does not know, unless the operator
/// names one that fits.
pub(super) fn detect(db: &mut PgConnection, wanted: Option<Host>) -> Result<Host> {
    const THEIRS: &str = "SELECT CASE nspname WHEN 'public' THEN relname::text ELSE nspname || '.' || relname END FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'sweep') \
        AND nspname NOT LIKE 'pg\\_%'";
    let tables: BTreeSet<String> =
        sql::<Text>(THEIRS).load(db).context("looking for the host's tables")?.into_iter().collect();
    let missing: Vec<&str> = PAPERCLIP_TABLES.into_iter().filter(|&table| !tables.contains(table)).collect();
    match (wanted, missing.is_empty()) {
        (Some(Host::Native), _) => Ok(Host::Native),
        (_, true) => Ok(Host::Paperclip),
        (Some(Host::Paperclip), false) => {
            Err(config(format!("this is not Paperclip's database, it lacks the tables {}", missing.join(", "))).into())
        }
        (None, false) if tables.is_empty() => Ok(Host::Native),
        (None, false) => Err(config(format!(
            "this database is neither empty nor Paperclip's: it has {} tables, and lacks Paperclip's {}. \
             To put sweep's own tables beside them, in the schema sweep, run `sweep migrate --host native`",
            tables.len(),
            missing.join(", ")
        ))
        .into()),
    }
}
