//! The hosts: the control planes whose database sweep knows, and how each is recognised.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;

use crate::conclusion::{Failure, config};

/// The control plane whose database it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Host {
    /// sweep's own tables.
    Native,
    /// Paperclip's database.
    Paperclip,
}

impl Host {
    pub const ALL: &[Host] = <Host as strum::VariantArray>::VARIANTS;

    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The host's own tables, in the schema `public`; none when they are sweep's.
    pub(super) fn tables(self) -> Option<&'static [&'static str]> {
        match self {
            Host::Native => None,
            Host::Paperclip => Some(&PAPERCLIP_TABLES),
        }
    }
}

/// Paperclip's oldest release that has all that is read and written here.
const PAPERCLIP_OLDEST: &str = "2026.817.0";

/// What no other control plane is known to have all of.
const PAPERCLIP_MARKS: [&str; 4] = ["companies", "issues", "heartbeat_runs", "agent_wakeup_requests"];

/// What its later releases brought and is written here: in the table issues.
const PAPERCLIP_COLUMNS: [&str; 3] = ["harness_kind", "blocked_transition_at", "unblock_descriptor"];

/// Relations of Paperclip's database; its views read all of them.
const PAPERCLIP_TABLES: [&str; 15] = [
    "companies", "agents", "issues", "heartbeat_runs", "environment_leases", "heartbeat_run_watchdog_decisions",
    "agent_wakeup_requests", "issue_comments", "activity_log", "issue_relations", "issue_recovery_actions",
    "issue_thread_interactions", "issue_approvals", "approvals", "issue_tree_holds",
];

/// The host of a PostgreSQL database where sweep has never been. Refuses one that it does not know, unless the operator
/// names one that fits.
pub(super) fn detect(db: &mut PgConnection, wanted: Option<Host>) -> Result<Host> {
    const THEIRS: &str = "SELECT CASE nspname WHEN 'public' THEN relname::text ELSE nspname || '.' || relname END FROM \
        pg_class c JOIN pg_namespace n ON n.oid = relnamespace \
        WHERE relkind IN ('r', 'p') AND nspname NOT IN ('pg_catalog', 'information_schema', 'sweep') \
        AND nspname NOT LIKE 'pg\\_%'";
    let tables: BTreeSet<String> =
        sql::<Text>(THEIRS).load(db).context("looking for the host's tables")?.into_iter().collect();
    let missing: Vec<&str> = PAPERCLIP_TABLES.into_iter().filter(|&table| !tables.contains(table)).collect();
    let is_paperclip = PAPERCLIP_MARKS.into_iter().all(|table| tables.contains(table));
    match (wanted, missing.is_empty()) {
        (Some(Host::Native), _) => Ok(Host::Native),
        (_, true) => refuse_old_paperclip(db).map(|()| Host::Paperclip),
        (_, false) if is_paperclip => Err(old_paperclip(&missing).into()),
        (Some(Host::Paperclip), false) => {
            Err(config(format!("this is not Paperclip's database, it lacks {}", named(&missing))).into())
        }
        (None, false) if tables.is_empty() => Ok(Host::Native),
        (None, false) => Err(config(format!(
            "this database is neither empty nor Paperclip's: it has {}, and lacks Paperclip's {}. \
             To put sweep's own tables beside them, in the schema sweep, run `sweep migrate --host native`",
            counted(tables.len()),
            missing.join(", ")
        ))
        .into()),
    }
}

fn counted(tables: usize) -> String {
    if tables == 1 { "1 table".to_owned() } else { format!("{tables} tables") }
}

/// `the table issues`, `the tables issues, agents and 12 more`.
fn named(tables: &[&str]) -> String {
    match tables {
        [table] => format!("the table {table}"),
        [first, second, _, _, ..] => format!("the tables {first}, {second} and {} more", tables.len() - 2),
        tables => format!("the tables {}", tables.join(", ")),
    }
}

fn refuse_old_paperclip(db: &mut PgConnection) -> Result<()> {
    const THEIRS: &str = "SELECT attname::text FROM pg_attribute \
        WHERE attrelid = 'public.issues'::regclass AND attnum > 0 AND NOT attisdropped";
    let columns: BTreeSet<String> =
        sql::<Text>(THEIRS).load(db).context("looking at the table issues")?.into_iter().collect();
    let missing: Vec<&str> = PAPERCLIP_COLUMNS.into_iter().filter(|&column| !columns.contains(column)).collect();
    if missing.is_empty() { Ok(()) } else { Err(old_paperclip(&missing).into()) }
}

fn old_paperclip(missing: &[&str]) -> Failure {
    config(format!(
        "this Paperclip is older than {PAPERCLIP_OLDEST}, the oldest release that sweep works with (it lacks {}): \
            upgrade Paperclip first",
        missing.join(", ")
    ))
}
