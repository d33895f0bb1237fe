//! The flags of `sweep watch`.

use std::ffi::OsString;
use std::path::PathBuf;

use chrono::TimeDelta;
use clap::Args;

use super::{DatabaseFlag, PolicyFlags};
use crate::parse;

/// Run an agent's command in a terminal of its own, or watch a tmux pane, and keep its session in the database.
///
/// While it runs, its row says when it last printed anything, when it last printed anything new, and its last lines. When it
/// falls silent, repeats itself or crashes, sweep's own rules decide: it is nudged, relaunched, or a person is told. The same
/// policy, limits and ledger hold as in any sweep, and sweeps may run beside it.
///
/// Ends with the command's exit code (128 + n after signal n; 127 if there is no such command).
#[derive(Debug, Args)]
pub struct WatchFlags {
    /// The command and its arguments, behind --
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "tmux", conflicts_with = "tmux")]
    pub command: Vec<OsString>,
    /// Watch what runs in this tmux pane instead: %3, work:1.0
    #[arg(long, value_name = "PANE", value_parser = parse::words)]
    pub tmux: Option<String>,
    /// What people will call the session; no other may be called so
    #[arg(long, value_name = "NAME", value_parser = parse::message)]
    pub name: Option<String>,
    /// The agent that works in it: its id or its name
    #[arg(long, value_name = "AGENT", value_parser = parse::words)]
    pub agent: Option<String>,
    /// The issue that it works on, where an escalation is written: its id, or what people call it
    #[arg(long, value_name = "ISSUE", value_parser = parse::words)]
    pub issue: Option<String>,
    /// The tenant it belongs to [default: its issue's, else default]
    #[arg(long, value_name = "TENANT", value_parser = parse::words)]
    pub tenant: Option<String>,
    /// Its own threshold in place of --session-silent-after; whole seconds
    #[arg(long, value_name = "DURATION", value_parser = parse::whole_seconds, allow_hyphen_values = true)]
    pub silent_after: Option<TimeDelta>,
    /// Take up this session instead of a new one: its id, or what people call it
    #[arg(long, value_name = "SESSION", value_parser = parse::words,
          conflicts_with_all = ["name", "agent", "issue", "tenant", "silent_after"])]
    pub session: Option<String>,
    /// How often to look at it and to write what changed; at least 100ms [default: 2s]
    #[arg(long, value_name = "DURATION", value_parser = parse::watch_interval, allow_hyphen_values = true)]
    pub interval: Option<TimeDelta>,
    /// Leave all decisions to sweeps; only keep the row, and deliver what they queue
    #[arg(long)]
    pub no_examine: bool,
    /// Let the command inherit sweep's own variables as well: SWEEP_…, DATABASE_URL, DATABASE_URL_FILE and PG…
    #[arg(long, conflicts_with = "tmux")]
    pub inherit_env: bool,
    /// Where its output is kept if it crashes [default: sessions/ID.log in the data directory]
    #[arg(long, value_name = "PATH")]
    pub log: Option<PathBuf>,
    #[command(flatten)]
    pub database: DatabaseFlag,
    #[command(flatten)]
    pub policy: PolicyFlags,
}
