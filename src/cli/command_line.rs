//! The command line: its commands, and the flags of each.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use chrono::TimeDelta;
use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Error, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use super::setup::InitFlags;
use crate::parse::{self, CHECK, CommandLine, EXEMPTS, HOST, KIND, KINDS, NUDGES, RUN_END, Until};
use crate::report::Format;
use crate::rules::Kind;
use crate::settings::TypedSettings;
use crate::settings::resolve::{CommonFlags, HOW_IT_RUNS, ScopeFlags, SweepFlags};
use crate::store::read::overview::Cursor;
use crate::store::work::exemptions::Exempts;
use crate::store::work::runs::RunEnd;
use crate::supervisor::record::Nudges;
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
    /// Check an installation, and say what to do where it is not well
    Doctor,
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
    /// Take a wake as a run, say that the run lives, or end the run
    #[command(subcommand, arg_required_else_help = false)]
    Run(RunCommand),
    /// Keep sweeps away from work that is in progress on purpose
    #[command(subcommand, arg_required_else_help = false)]
    Exempt(ExemptCommand),
    /// List or release what failed so often that sweeps leave it out
    #[command(subcommand, arg_required_else_help = false)]
    Quarantine(QuarantineCommand),
    /// Find out whether people can be notified
    #[command(subcommand, arg_required_else_help = false)]
    Notify(NotifyCommand),
    /// Set sweep up, step by step: database, schema, settings, schedule
    Init(InitFlags),
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
    /// Paperclip, Prefect: put a trigger on the host's table of runs as well, so that `sweep daemon` hears of each
    /// that ends
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
    /// List all sessions, issues or steps in progress, healthy ones too, one on each line
    #[arg(long, value_name = "KIND", value_parser = KINDS, hide_possible_values = true, conflicts_with = "plan")]
    pub only: Option<Kind>,
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
    New {
        /// Where to write it: a directory that is not there, or is empty
        #[arg(value_name = "DIRECTORY")]
        directory: PathBuf,
    },
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
    /// Note a sign of life of this session at each call of a tool: its id, or what people call it
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
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

#[derive(Debug, Args)]
pub struct WakeFlags {
    /// An issue or a plan step: its id, or what people call it: ACM-12, 'Release 2.4 #2'
    #[arg(value_name = "ISSUE|STEP", value_parser = parse::non_empty)]
    pub issue_or_step: String,
    #[command(flatten)]
    pub asker: AskerFlag,
}

#[derive(Debug, Args)]
pub struct AskerFlag {
    /// The name that the ledger records for who asks [default: your login]
    #[arg(long = "as", value_name = "NAME", value_parser = parse::person, allow_hyphen_values = true)]
    pub name: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum SessionCommand {
    /// Have a message typed into a session now
    Nudge {
        #[command(flatten)]
        session: SessionFlags,
        /// What is typed into it [default: SWEEP_NUDGE_MESSAGE, else as sweeps do]
        #[arg(long, value_name = "TEXT", value_parser = parse::message, allow_hyphen_values = true)]
        message: Option<String>,
    },
    /// Have the process of a session started again
    Relaunch(SessionFlags),
    /// Have nobody disturb a session
    Pause(SessionFlags),
    /// End the pause of a session
    Resume(SessionFlags),
    /// Note a sign of life of a session
    Heartbeat(SessionFlags),
}

#[derive(Debug, Args)]
pub struct SessionFlags {
    /// A session: its id, or what people call it
    #[arg(value_name = "SESSION", value_parser = parse::non_empty)]
    pub session: String,
    #[command(flatten)]
    pub asker: AskerFlag,
}

#[derive(Debug, Subcommand)]
pub enum StepCommand {
    /// Leave out a plan step
    Skip(StepFlags),
    /// Give up a plan step that is in progress
    Fail(StepFlags),
}

#[derive(Debug, Subcommand)]
pub enum RunCommand {
    /// Take the oldest wake that is queued, and print the run that begins with it, its issue and its step
    Start(RunStartFlags),
    /// Note that a run lives; the exit code is 1 if a sweep has taken the run
    Heartbeat {
        /// The run's id
        #[arg(value_name = "RUN", value_parser = parse::non_empty)]
        run: String,
    },
    /// End a run; the exit code is 1 if a sweep has taken the run
    End {
        /// The run's id
        #[arg(value_name = "RUN", value_parser = parse::non_empty)]
        run: String,
        /// How the run ended
        #[arg(value_name = "STATUS", value_parser = RUN_END)]
        status: RunEnd,
        /// The work is done as well: the issue goes to review, or the step is completed
        #[arg(long)]
        done: bool,
    },
}

#[derive(Debug, Args)]
pub struct RunStartFlags {
    /// The run is lost when it shows no sign of life for longer, such as 5m [default: SWEEP_RUN_SILENT_AFTER]
    #[arg(long, value_name = "TIME", value_parser = parse::whole_seconds)]
    pub lease: Option<TimeDelta>,
}

#[derive(Debug, Args)]
pub struct StepFlags {
    /// A plan step: its id, or its plan and position, such as 'Release 2.4 #2'
    #[arg(value_name = "STEP", value_parser = parse::non_empty)]
    pub step: String,
    #[command(flatten)]
    pub asker: AskerFlag,
}

/// The name of a subject. Its kind may be left out: then the first word is its name.
#[derive(Debug, Args)]
pub struct SubjectName {
    /// session, issue, step; or at once what follows, if no two kinds have it
    #[arg(value_name = "KIND", value_parser = KindOrName, hide_possible_values = true)]
    pub kind: Option<String>,
    /// Its id, or what people call it: ACM-12, 'Release 2.4 #2'
    #[arg(value_name = "ID", value_parser = parse::non_empty)]
    pub name: Option<String>,
}

/// Completes as a kind, and takes any name.
#[derive(Clone)]
struct KindOrName;

impl TypedValueParser for KindOrName {
    type Value = String;

    fn parse_ref(&self, command: &clap::Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, Error> {
        parse::non_empty.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        KIND.possible_values()
    }
}

/// What is exempt.
#[derive(Debug, Args)]
pub struct ExemptName {
    /// session, issue, step; or agent, tenant: all that it has
    #[arg(value_name = "KIND", value_parser = EXEMPTS, hide_possible_values = true)]
    pub of: Exempts,
    /// Its id, or what people call it: ACM-12, 'Release 2.4 #2', Ada
    #[arg(value_name = "ID", value_parser = parse::non_empty)]
    pub name: String,
}

#[derive(Debug, Subcommand)]
pub enum ExemptCommand {
    /// Exempt a subject, an agent or a tenant; again: replace the reason and the end
    Add {
        #[command(flatten)]
        what: ExemptName,
        /// Why it is in progress on purpose
        #[arg(long, value_name = "TEXT", value_parser = parse::reason, allow_hyphen_values = true)]
        reason: String,
        /// When the exemption ends: 2d, 12h, 2026-12-24, 2026-12-24T18:00:00Z (UTC unless it says otherwise)
        /// [default: when it is removed]
        #[arg(long, value_name = "WHEN", value_parser = parse::until, allow_hyphen_values = true)]
        until: Option<Until>,
    },
    /// List all exemptions, expired ones too
    List,
    /// End an exemption
    Remove(ExemptName),
}

#[derive(Debug, Subcommand)]
pub enum QuarantineCommand {
    /// List what is in quarantine
    List,
    /// Have the next sweep examine it again
    Release {
        #[command(flatten)]
        subject: SubjectName,
        /// Release everything
        #[arg(long, conflicts_with = "kind")]
        all: bool,
    },
}

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
