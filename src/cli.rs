//! The command line.

mod daemon;
mod help;
mod mistake;
mod policy;
mod program;
mod read;
mod subjects;
mod sweep;
mod values;
mod watch;

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand};

use crate::parse;
use crate::store::hosts::Host;
pub use daemon::DaemonFlags;
pub use help::{EXIT_CODES, Page, command, page_of};
pub use mistake::told;
pub use policy::PolicyFlags;
pub use program::{CompletionsFlags, ConfigFlags, DemoAt, DemoFlags, ManFlags};
pub use subjects::{
    ExemptCommand, ExemptFlags, ExplainFlags, Layout, LayoutFlag, ListFlags, QuarantineCommand, ReleaseFlags,
    RemoveFlags, SubjectFlags, SubjectName,
};
pub use sweep::{DatabaseFlag, LimitFlags, ScopeFlags, SweepFlags};
use values::HOST;
pub use watch::{EventFlags, WatchCommand, WatchFlags};

/// Finds stranded work in an agent control plane's database, continues it a bounded number of times, then notifies a person.
#[derive(Debug, Parser)]
#[command(name = "sweep", version, max_term_width = 80)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub common: CommonFlags,
    #[command(flatten)]
    pub sweep: SweepFlags,
}

/// A command has its own options first.
const LAST: usize = 900;

/// What every command has, before its name or after it.
#[derive(Clone, Debug, Default, Args)]
pub struct CommonFlags {
    /// Read settings from this file, lines of NAME=VALUE
    ///
    /// Each value as it stands: no quotes, no $. Options and the environment win. [default: SWEEP_CONFIG]
    #[arg(long, value_name = "FILE", global = true, display_order = LAST)]
    pub config: Option<PathBuf>,
    /// Print the summary of a sweep alone, and log errors only
    ///
    /// Commands that only confirm what they did (migrate, exempt, quarantine release) print nothing. JSON is printed as ever.
    #[arg(short, long, global = true, display_order = LAST, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more, on stderr; -vv: more yet
    ///
    /// One step more than usual: at a terminal from errors to what is done and then to details, elsewhere from what is done to
    /// details. Like -q, it wins over SWEEP_LOG.
    #[arg(short, long, global = true, display_order = LAST, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "it is made once")]
pub enum Command {
    /// Sweep on a schedule until a signal ends it
    Daemon(DaemonFlags),
    /// Show how the work stands and what waits for a person
    Status(StatusFlags),
    /// Explain one subject, and what a sweep would do about it
    Explain(ExplainFlags),
    /// Keep sweeps away from work that is in progress on purpose
    #[command(subcommand, arg_required_else_help = false)]
    Exempt(ExemptCommand),
    /// List or release what failed so often that sweeps leave it out
    #[command(subcommand, arg_required_else_help = false)]
    Quarantine(QuarantineCommand),
    /// Find out whether people can be notified
    #[command(subcommand, arg_required_else_help = false)]
    Notify(NotifyCommand),
    /// Create or upgrade sweep's schema in the database
    Migrate(MigrateFlags),
    /// Run an agent, or watch its tmux pane, and keep its session
    Watch(WatchFlags),
    /// Show every setting and where it comes from, without secrets
    Config(ConfigFlags),
    /// Print the script that completes sweep's arguments in your shell
    Completions(CompletionsFlags),
    /// Write the manual pages
    Man(ManFlags),
    /// See sweep at work on a small made-up company
    Demo(DemoFlags),
}

#[derive(Debug, Args)]
pub struct MigrateFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    /// Whose database it is: native (sweep's own tables), paperclip [default: as detected]
    #[arg(long, value_parser = HOST, hide_possible_values = true)]
    pub host: Option<Host>,
    /// Paperclip: put a trigger on its table of runs as well, so that `sweep daemon --listen on` hears of each that ends
    #[arg(long)]
    pub with_listen: bool,
    /// Migrate although this role is a superuser that does not own the host's tables
    #[arg(long)]
    pub as_superuser: bool,
    /// Print the SQL and change nothing
    #[arg(long)]
    pub print: bool,
}

#[derive(Debug, Args)]
pub struct StatusFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    #[command(flatten)]
    pub layout: LayoutFlag,
    /// Only this plan, with its steps: its title, or its id
    #[arg(long, value_name = "PLAN", value_parser = parse::words)]
    pub plan: Option<String>,
    /// Only this tenant's work; sweeps and what came of them are everybody's
    #[arg(long, value_name = "TENANT", conflicts_with = "plan")]
    pub tenant: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum NotifyCommand {
    /// Send a test message to each destination, and a ping
    Test,
}
