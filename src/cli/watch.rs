//! The flags of `sweep watch`.

use std::ffi::OsString;
use std::path::PathBuf;

use chrono::TimeDelta;
use clap::{Args, Subcommand};

use crate::parse::{self, CommandLine, NUDGES};
use crate::settings::flags::HOW_IT_RUNS;
use crate::supervisor::record::Nudges;

/// Run an agent's command in a terminal of its own, or watch a tmux pane, and keep its session in the database.
///
/// While it runs, its row says what the agent is doing, when it last printed anything, when it last made progress, and
/// the last lines of its screen. When it waits for a person, a person is notified, and nothing is typed. When it falls
/// silent, repeats itself, does nothing new or crashes, sweep's own rules decide: it is nudged, relaunched, or a person
/// is notified. A nudge is typed only at the idle prompt of a program whose screens are known. The same policy, limits
/// and ledger hold as in any sweep, and sweeps may run beside it.
///
/// Ends with the command's exit code (128 + n after signal n; 127 if there is no such command).
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true, disable_help_subcommand = true)]
pub struct WatchFlags {
    #[command(subcommand)]
    pub of_agent: Option<WatchCommand>,
    /// The command and its arguments
    ///
    /// Behind -- if it is called as a command of sweep's.
    #[arg(trailing_var_arg = true, value_name = "PROGRAM", required_unless_present = "tmux", conflicts_with = "tmux")]
    pub command: Vec<OsString>,
    /// Watch what runs in this tmux pane instead: %3, work:1.0
    #[arg(long, value_name = "PANE", value_parser = parse::non_empty)]
    pub tmux: Option<String>,
    /// What people will call the session [default: its directory, as api; then api-2]
    ///
    /// One that has ended and is called so is taken up.
    #[arg(long, value_name = "NAME", value_parser = parse::message)]
    pub name: Option<String>,
    /// The agent that works in it: its id or its name
    #[arg(long, value_name = "AGENT", value_parser = parse::non_empty)]
    pub agent: Option<String>,
    /// The issue that it works on: its id, or what people call it
    ///
    /// An escalation of the session is written there.
    #[arg(long, value_name = "ISSUE", value_parser = parse::non_empty)]
    pub issue: Option<String>,
    /// The tenant it belongs to [default: its issue's, else default]
    #[arg(long, value_name = "TENANT", value_parser = parse::non_empty)]
    pub tenant: Option<String>,
    /// Its own threshold in place of SWEEP_SESSION_SILENT_AFTER; whole seconds
    #[arg(help_heading = HOW_IT_RUNS, long, value_name = "DURATION", value_parser = parse::whole_seconds,
          allow_hyphen_values = true)]
    pub silent_after: Option<TimeDelta>,
    /// Take up this session instead of a new one: its id, or what people call it
    #[arg(long, value_name = "SESSION", value_parser = parse::non_empty,
          conflicts_with_all = ["name", "agent", "issue", "tenant"])]
    pub session: Option<String>,
    /// Leave all decisions to sweeps; only keep the row, and deliver what they queue
    #[arg(help_heading = HOW_IT_RUNS, long)]
    pub no_examine: bool,
    /// When to type into it: idle, off [default: where its prompt is known]
    ///
    /// The default is the idle prompt of agents whose screens are known; idle: any prompt such as >.
    #[arg(long, value_name = "WHEN", value_parser = NUDGES, hide_possible_values = true)]
    pub nudge: Option<Nudges>,
    /// Start it again with this command after a crash, in place of its own: 'claude --continue'
    #[arg(help_heading = HOW_IT_RUNS, long, value_name = "COMMAND", value_parser = parse::command_line,
          conflicts_with = "tmux")]
    pub relaunch_command: Option<CommandLine>,
    /// Have the agent report its state by its hooks, which are set up by arguments for it alone: Claude Code, Codex
    #[arg(help_heading = HOW_IT_RUNS, long, conflicts_with = "tmux")]
    pub hooks: bool,
    /// Let the command inherit sweep's own variables as well: SWEEP_…, DATABASE_URL, DATABASE_URL_FILE and PG…
    #[arg(help_heading = HOW_IT_RUNS, long, conflicts_with = "tmux")]
    pub inherit_env: bool,
    /// Where its output is kept if it crashes [default: sessions/ID.log in the data directory]
    #[arg(help_heading = HOW_IT_RUNS, long, value_name = "PATH")]
    pub log: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum WatchCommand {
    /// For an agent's hooks: hand an event to the watcher that started the agent
    ///
    /// The event is a JSON object, as the argument or on stdin: what the hooks of Claude Code and Gemini CLI and the
    /// notify program of Codex are given; or {"state": "working|idle|waiting|exhausted", "kind": "permission",
    /// "question": "…"}. Never fails and prints nothing on stdout, so that no agent is held up; an event that cannot be
    /// handed over is reported on stderr.
    Event(EventFlags),
}

#[derive(Debug, Args)]
pub struct EventFlags {
    /// The event [default: what is on stdin]; of several words the last
    #[arg(value_name = "JSON", allow_hyphen_values = true, trailing_var_arg = true)]
    pub event: Vec<OsString>,
}
