//! The command line, and its commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use super::host::HostCommand;
use super::mcp::McpFlags;
use super::program::{CompletionsFlags, ConfigFlags, DemoFlags, ManFlags};
use super::request::AskCommand;
use super::subjects::{ExemptCommand, ExplainFlags, LayoutFlag, QuarantineCommand};
use super::watch::WatchFlags;
use crate::parse::{self, HOST};
use crate::settings::flags::{CommonFlags, DaemonFlags, DatabaseFlag, LinkFlag, PageFlags, SweepFlags};
use crate::store::read::overview::Cursor;

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
}

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "it is made once")]
pub enum Command {
    /// Sweep on a schedule until a signal ends it
    Daemon(DaemonFlags),
    /// Show how the work stands and what waits for a person
    Status(StatusFlags),
    /// Show what needs a person, and whether sweeps run
    Attention(AttentionFlags),
    /// Serve the page that shows the same to a browser, without sweeping
    Page(PageFlags),
    /// Explain one subject, and what a sweep would do about it
    Explain(ExplainFlags),
    #[command(flatten)]
    Ask(AskCommand),
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
    /// Whose database it is, as `sweep host list` calls it [default: as detected]
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
    #[command(flatten)]
    pub layout: LayoutFlag,
}

#[derive(Debug, Args)]
pub struct StatusFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    #[command(flatten)]
    pub links: LinkFlag,
    #[command(flatten)]
    pub layout: LayoutFlag,
    /// Only this plan, with its steps: its title, or its id
    #[arg(long, value_name = "PLAN", value_parser = parse::non_empty)]
    pub plan: Option<String>,
    /// Only this tenant's work; sweeps and what came of them are everybody's
    #[arg(long, value_name = "TENANT", conflicts_with = "plan")]
    pub tenant: Option<String>,
}

#[derive(Debug, Args)]
pub struct AttentionFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    #[command(flatten)]
    pub links: LinkFlag,
    #[command(flatten)]
    pub layout: LayoutFlag,
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
    Test(NotifyTestFlags),
}

#[derive(Debug, Args)]
pub struct NotifyTestFlags {
    #[command(flatten)]
    pub layout: LayoutFlag,
}
