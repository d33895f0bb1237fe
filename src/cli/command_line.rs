//! The command line, and its commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::request::{SessionCommand, StepCommand, WakeFlags};
use super::subjects::{ExemptCommand, QuarantineCommand, SubjectName};
use super::watch::WatchFlags;
use crate::parse::{self, CHECK, HOST};
use crate::report::Format;
use crate::settings::TypedSettings;
use crate::settings::flags::{CommonFlags, ScopeFlags, SweepFlags};
use crate::store::read::overview::Cursor;
use crate::verify::Promise;

/// Finds stranded work, continues it a few times at most, then notifies a person.
#[derive(Debug, Parser)]
#[command(name = "sweep", version, max_term_width = 80)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub common: CommonFlags,
    #[command(flatten)]
    pub sweep: SweepFlags,
    /// How to print it.
    #[arg(skip)]
    pub format: Format,
    /// What the command line says of settings.
    #[arg(skip)]
    pub typed: TypedSettings,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Sweep on a schedule until a signal ends it
    Daemon(ScopeFlags),
    /// Show how the work stands and what waits for a person
    Status(StatusFlags),
    /// Show what needs a person, and whether sweeps run
    Attention(AttentionFlags),
    /// Serve the page that shows the same to a browser, without sweeping
    Page,
    /// Explain one subject, and what a sweep would do about it
    Explain(SubjectName),
    /// Have the agent of an issue or a plan step go on with it now
    Wake(WakeFlags),
    /// Nudge, relaunch, pause or resume a session, or note a sign of life
    #[command(subcommand, arg_required_else_help = false)]
    Session(SessionCommand),
    /// Skip a plan step, or give one up
    #[command(subcommand, arg_required_else_help = false)]
    Step(StepCommand),
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
    /// List and show the control planes that sweep knows
    #[command(subcommand, arg_required_else_help = false)]
    Host(HostCommand),
    /// Run an agent, or watch its tmux pane, and keep its session
    Watch(WatchFlags),
    /// Offer agents the state of the work as tools (MCP)
    Mcp(McpFlags),
    /// Show every setting and where it comes from, without secrets
    Config,
    /// Print the script that completes sweep's arguments in your shell
    #[command(hide = true)]
    Completions(CompletionsFlags),
    /// Write the manual pages
    #[command(hide = true)]
    Man(ManFlags),
    /// See sweep at work on a small made-up company
    Demo(DemoFlags),
}

#[derive(Debug, Args)]
pub struct MigrateFlags {
    /// The host whose database it is, as `sweep host list` calls it [default: as detected]
    #[arg(long, value_parser = HOST, hide_possible_values = true)]
    pub host: Option<&'static str>,
    /// It is the database of the host in this directory, which docs/hosts.md describes
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "host")]
    pub host_dir: Option<PathBuf>,
    /// Paperclip: put a trigger on its table of runs as well, so that `sweep daemon --listen on` hears of each that
    /// ends
    #[arg(long)]
    pub with_listen: bool,
    /// Migrate although this role is a superuser that does not own the host's tables
    #[arg(long)]
    pub as_superuser: bool,
    /// Remove all that sweep made in the database, and all that it remembers there
    #[arg(long, conflicts_with_all = ["host", "host_dir", "with_listen", "as_superuser"])]
    pub uninstall: bool,
    /// With --uninstall: keep what sweep remembers, and remove only its views and triggers over the host's tables
    #[arg(long, requires = "uninstall")]
    pub keep_ledger: bool,
    /// With --uninstall: do not ask
    #[arg(long, requires = "uninstall")]
    pub yes: bool,
    /// Print the SQL and change nothing
    #[arg(long, conflicts_with = "output")]
    pub print: bool,
}

#[derive(Debug, Args)]
pub struct StatusFlags {
    /// Only this plan, with its steps: its title, or its id
    #[arg(long, value_name = "PLAN", value_parser = parse::non_empty)]
    pub plan: Option<String>,
    /// Only this tenant's work; sweeps and what came of them are everybody's
    #[arg(long, value_name = "TENANT", conflicts_with = "plan")]
    pub tenant: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttentionFlags {
    /// Only this tenant's work; sweeps and days are everybody's
    #[arg(long, value_name = "TENANT", value_parser = parse::non_empty)]
    pub tenant: Option<String>,
    /// Only this agent's work: its name, or its id
    #[arg(long, value_name = "AGENT", value_parser = parse::non_empty)]
    pub agent: Option<String>,
    /// List so many things that need a person, from 1 to 500 [default: 50]
    #[arg(long, value_name = "N", value_parser = parse::page_limit)]
    pub limit: Option<usize>,
    /// List those that follow: `next_page` of the JSON of the page before
    #[arg(long, value_name = "PLACE", value_parser = parse::cursor, allow_hyphen_values = true)]
    pub after: Option<Cursor>,
}

#[derive(Debug, Subcommand)]
pub enum NotifyCommand {
    /// Send a test message to each destination, and a ping
    Test,
}

#[derive(Debug, Subcommand)]
pub enum HostCommand {
    /// List the hosts that are built in
    List,
    /// Show what one of them is recognised by, reads and runs
    Show(HostShowFlags),
    /// Write the beginning of a folder that connects this database
    New(HostNewFlags),
    /// Try every promise on copies of a host's database, and print a certificate
    Verify(HostVerifyFlags),
}

/// Which host.
#[derive(Debug, Args)]
pub struct HostFlags {
    /// One that is built in: see `sweep host list`
    #[arg(value_name = "HOST", value_parser = HOST, hide_possible_values = true, required_unless_present = "host_dir",
          conflicts_with = "host_dir")]
    pub host: Option<&'static str>,
    /// The host in this directory
    #[arg(long, value_name = "DIRECTORY")]
    pub host_dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct HostNewFlags {
    /// Where to write it: a directory that is not there, or is empty
    #[arg(value_name = "DIRECTORY")]
    pub directory: PathBuf,
}

#[derive(Debug, Args)]
pub struct HostVerifyFlags {
    #[command(flatten)]
    pub of: HostFlags,
    /// How much finished work the views are measured beside
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub rows: u32,
    /// Only this check, which is no certificate (repeatable): continuation, recovery, escalation, patience, candidates,
    /// rivals, locks, kills, footprint, cost, coverage, removal; the installation is always played, since the others
    /// need it
    #[arg(long = "check", value_name = "NAME", value_parser = CHECK, hide_possible_values = true)]
    pub checks: Vec<Promise>,
}

#[derive(Debug, Args)]
pub struct HostShowFlags {
    #[command(flatten)]
    pub of: HostFlags,
    /// Print the text of its files instead
    #[arg(long, conflicts_with = "output")]
    pub files: bool,
}

#[derive(Debug, Args)]
pub struct McpFlags {
    /// Offer the tools that change something as well; without it, it reads only
    #[arg(long)]
    pub allow_changes: bool,
    /// The name that the ledger records for who asks, beside the client [default: your login]
    #[arg(long = "as", value_name = "NAME", value_parser = parse::person, allow_hyphen_values = true)]
    pub asker: Option<String>,
}

#[derive(Debug, Args)]
pub struct CompletionsFlags {
    /// bash, elvish, fish, powershell, zsh
    #[arg(value_name = "SHELL", value_enum, hide_possible_values = true)]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct ManFlags {
    /// Write a page for each command into this directory [default: print the main page]
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct DemoFlags {
    /// Keep the database afterwards, as one that --database names always is
    #[arg(long)]
    pub keep: bool,
    /// Keep it as it is at the start, when nothing has been swept, or at the end: start, end [default: end]
    #[arg(long, value_name = "WHEN", value_enum, hide_possible_values = true)]
    pub at: Option<DemoAt>,
}

/// At which moment the demo's database is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DemoAt {
    Start,
    End,
}
