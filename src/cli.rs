//! The command line.

mod daemon;
mod program;
mod subjects;
mod watch;

use std::path::PathBuf;

use chrono::TimeDelta;
use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::parse;
use crate::report::heading::KindMode;
use crate::rules::{After, Escalation, Id, Kind};
use crate::store::candidates::Shard;
use crate::store::hosts::Host;
use crate::store::open::StatementCache;
pub use daemon::{DaemonFlags, Http};
pub use program::{CompletionsFlags, ConfigFlags, DemoAt, DemoFlags, ManFlags};
pub use subjects::{
    ExemptCommand, ExemptFlags, ExplainFlags, Layout, LayoutFlag, ListFlags, QuarantineCommand, ReleaseFlags,
    RemoveFlags, SubjectFlags, SubjectName,
};
pub use watch::{EventFlags, WatchCommand, WatchFlags};

/// Finds stranded work in an agent control plane's database, continues it a bounded number of times, then tells a person.
#[derive(Debug, Parser)]
#[command(name = "sweep", version, args_conflicts_with_subcommands = true, after_help = AFTER_HELP)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Settings as lines of NAME=VALUE, each value as it stands; flags and the environment win [default: SWEEP_CONFIG]
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub sweep: SweepFlags,
}

const AFTER_HELP: &str = "\
The policy, the limits, and --only, --tenant, --connections and --output, can also be set in the environment, as \
SWEEP_ORPHAN_GRACE for --orphan-grace; flags win. The database: --database, else DATABASE_URL, else the file that \
DATABASE_URL_FILE names, else libpq's PG*, else an embedded file.

Exit codes:
   0  done, or nothing to do
   1  some subjects failed
   2  with --detailed-exitcode: something was (in a dry run: would be) done
   4  the guard left a kind alone: too much of it looks stranded
  64  wrong arguments
  69  the database is unavailable
  75  everything that was left was busy
  78  wrong settings, rights or schema
 130, 143  ended by Ctrl-C or SIGTERM, after what was in hand";

#[derive(Debug, Subcommand)]
#[expect(clippy::large_enum_variant, reason = "it is made once")]
pub enum Command {
    /// Sweep on a schedule until told to end
    Daemon(DaemonFlags),
    /// Show how the work stands, what waits for a person, and how well sweep does; writes nothing
    Status(StatusFlags),
    /// Explain one subject: what holds of it, what was tried, what a sweep would do; writes nothing
    Explain(ExplainFlags),
    /// Keep sweeps away from work that is in progress on purpose
    #[command(subcommand, arg_required_else_help = false)]
    Exempt(ExemptCommand),
    /// See and release what sweeps no longer examine since it failed again and again
    #[command(subcommand, arg_required_else_help = false)]
    Quarantine(QuarantineCommand),
    /// See whether people can be told
    #[command(subcommand, arg_required_else_help = false)]
    Notify(NotifyCommand),
    /// Create or upgrade sweep's schema in the database
    Migrate(MigrateFlags),
    /// Run an agent's command, or watch its tmux pane, and keep its session: nudge it, relaunch it, notify a person
    Watch(WatchFlags),
    /// Show every setting, its value and where it comes from; secrets are not shown
    Config(ConfigFlags),
    /// Print a script that completes sweep's arguments in a shell
    Completions(CompletionsFlags),
    /// Write the manual pages
    Man(ManFlags),
    /// Watch a sweep at work on a small made-up company in a new SQLite file
    Demo(DemoFlags),
}

#[derive(Debug, Default, Args)]
pub struct SweepFlags {
    /// Show what would be done and write nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub subjects: SubjectFlags,
    /// Do what this plan says and nothing else: the output of `sweep --dry-run --output json`, or - for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "session", "issue", "step", "tenant", "shard"])]
    pub apply: Option<PathBuf>,
    /// How to print the report: table, json, ndjson [default: table]
    #[arg(long, value_name = "FORMAT", value_enum, hide_possible_values = true)]
    pub output: Option<Format>,
    /// Exit with 2 if something was (in a dry run: would be) done
    #[arg(long)]
    pub detailed_exitcode: bool,
    #[command(flatten)]
    pub scope: ScopeFlags,
}

/// What any sweep looks at and goes by, started by hand or by the daemon.
#[derive(Clone, Debug, Default, Args)]
pub struct ScopeFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    /// Only these kinds: sessions, issues, steps
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = parse::kind)]
    pub only: Option<Vec<Kind>>,
    /// Only what belongs to this tenant (Paperclip: the company's id)
    #[arg(long, value_name = "TENANT", value_parser = parse::words)]
    pub tenant: Option<String>,
    /// Only this part, such as 0/4: the work of one agent in four, so that four machines share a sweep
    #[arg(long, value_name = "I/N", value_parser = parse::shard)]
    pub shard: Option<Shard>,
    /// Work on this many subjects at once [default: 4]
    #[arg(long, value_name = "N", value_parser = parse::connections, allow_hyphen_values = true)]
    pub connections: Option<u32>,
    /// Write metrics here after the sweep, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    pub metrics_file: Option<PathBuf>,
    #[command(flatten)]
    pub limits: LimitFlags,
    #[command(flatten)]
    pub policy: PolicyFlags,
}

#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitFlags {
    /// Sessions: on, shadow (decided and reported, never written), off [default: on]
    #[arg(long, value_name = "MODE", value_parser = parse::kind_mode)]
    pub sessions: Option<KindMode>,
    /// Issues: on, shadow, off [default: on]
    #[arg(long, value_name = "MODE", value_parser = parse::kind_mode)]
    pub issues: Option<KindMode>,
    /// Plan steps: on, shadow, off [default: on]
    #[arg(long, value_name = "MODE", value_parser = parse::kind_mode)]
    pub steps: Option<KindMode>,
    /// Continue and escalate at most this many subjects, the oldest first
    #[arg(long, value_name = "N", value_parser = parse::positive, allow_hyphen_values = true)]
    pub limit: Option<u32>,
    /// Begin nothing more after this time; what is in hand is finished [default: 10m]
    #[arg(long, value_name = "DURATION", value_parser = parse::positive_duration, allow_hyphen_values = true)]
    pub deadline: Option<TimeDelta>,
    /// Wake or nudge one agent at most this many times in one sweep [default: 10]
    #[arg(long, value_name = "N", value_parser = parse::positive, allow_hyphen_values = true)]
    pub wakes_per_agent_max: Option<u32>,
    /// Leave a kind alone when more than this share of its subjects in progress look stranded [default: 0.5]
    #[arg(long, value_name = "SHARE", value_parser = parse::share, allow_hyphen_values = true)]
    pub guard_share: Option<f64>,
    /// … but only when they are more than this many [default: 20]
    #[arg(long, value_name = "N", value_parser = parse::number, allow_hyphen_values = true)]
    pub guard_min: Option<u32>,
    /// Go on although most of the work looks stranded
    #[arg(long)]
    pub no_guard: bool,
}

#[derive(Clone, Debug, Default, Args)]
pub struct DatabaseFlag {
    /// postgres://…, or sqlite://PATH; a password belongs into DATABASE_URL_FILE, since everybody can read a command line
    #[arg(long, value_name = "URL")]
    pub database: Option<String>,
    /// on, or off behind a transaction pooler that does not know prepared statements, such as PgBouncer before 1.21 [default: on]
    #[arg(long, value_name = "CACHE", value_parser = parse::statement_cache)]
    pub statement_cache: Option<StatementCache>,
}

/// Durations as `30m`, `1h 30m`.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Policy")]
pub struct PolicyFlags {
    /// An issue is orphaned when idle for longer [default: 2m]
    #[arg(long, value_name = "DURATION", value_parser = parse::duration, allow_hyphen_values = true)]
    pub orphan_grace: Option<TimeDelta>,
    /// A plan step is stalled when in progress for longer [default: 30m]
    #[arg(long, value_name = "DURATION", value_parser = parse::positive_duration, allow_hyphen_values = true)]
    pub step_stalled_after: Option<TimeDelta>,
    /// A session is silent when without a sign of life for longer; at least 1s [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = parse::at_least_a_second, allow_hyphen_values = true)]
    pub session_silent_after: Option<TimeDelta>,
    /// … and a session that takes no commands, such as one of Paperclip's runs [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = parse::at_least_a_second, allow_hyphen_values = true)]
    pub run_silent_after: Option<TimeDelta>,
    /// A session waits for a person when its agent has asked for longer: what is answered sooner is no news [default: 10s]
    #[arg(long, value_name = "DURATION", value_parser = parse::duration, allow_hyphen_values = true)]
    pub session_waiting_after: Option<TimeDelta>,
    /// A session is without progress when it moves and does nothing new for longer; at least 1s [default: 15m]
    #[arg(long, value_name = "DURATION", value_parser = parse::at_least_a_second, allow_hyphen_values = true)]
    pub session_no_progress_after: Option<TimeDelta>,
    /// A wake is reported as stuck when queued for longer; at least 1m [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = parse::at_least_a_minute, allow_hyphen_values = true)]
    pub wake_stuck_after: Option<TimeDelta>,
    /// Notify people of work whose agent is terminated or gone when idle for longer, or off; nothing of it is touched [default: 1h]
    #[arg(long, value_name = "DURATION", value_parser = parse::after, allow_hyphen_values = true)]
    pub abandoned_after: Option<After>,
    /// The same for work whose agent is paused or waits for an approval [default: off]
    #[arg(long, value_name = "DURATION", value_parser = parse::after, allow_hyphen_values = true)]
    pub paused_after: Option<After>,
    /// Wait between two attempts [default: 5m]
    #[arg(long, value_name = "DURATION", value_parser = parse::duration, allow_hyphen_values = true)]
    pub retry_delay: Option<TimeDelta>,
    /// Continuations before an escalation [default: 1]
    #[arg(long, value_name = "N", value_parser = parse::number, allow_hyphen_values = true)]
    pub attempts_max: Option<u32>,
    /// Continuations of one subject in 24 hours, and escalations [default: 4]
    #[arg(long, value_name = "N", value_parser = parse::number, allow_hyphen_values = true)]
    pub attempts_per_day_max: Option<u32>,
    /// What an escalation does: comment_and_block, comment_only [default: comment_and_block]
    #[arg(long, value_name = "HOW", value_parser = parse::escalation)]
    pub escalation: Option<Escalation>,
    /// Wait between two commands to one session; one that nobody takes for longer is escalated; at least 1s [default: 2m]
    #[arg(long, value_name = "DURATION", value_parser = parse::at_least_a_second, allow_hyphen_values = true)]
    pub nudge_delay: Option<TimeDelta>,
    /// Nudges of a session that is silent or loops, before an escalation [default: 2]
    #[arg(long, value_name = "N", value_parser = parse::number, allow_hyphen_values = true)]
    pub nudges_max: Option<u32>,
    /// What a nudge types into the session [default: You seem to be stuck. …]
    #[arg(long, value_name = "WORDS", value_parser = parse::message, allow_hyphen_values = true)]
    pub nudge_message: Option<String>,
    /// Relaunch crashed sessions: on, off [default: off]
    #[arg(long, value_name = "SWITCH", value_parser = parse::switch)]
    pub auto_relaunch: Option<bool>,
    /// Relaunches of a crashed session before an escalation [default: 1]
    #[arg(long, value_name = "N", value_parser = parse::number, allow_hyphen_values = true)]
    pub relaunches_max: Option<u32>,
    /// How long a foreign-key check may wait for a lock, below 1s (PostgreSQL) [default: 500ms]
    #[arg(long, value_name = "DURATION", value_parser = parse::lock_timeout, allow_hyphen_values = true)]
    pub lock_timeout: Option<TimeDelta>,
    /// How long a statement may take (PostgreSQL) [default: 30s]
    #[arg(long, value_name = "DURATION", value_parser = parse::statement_timeout, allow_hyphen_values = true)]
    pub statement_timeout: Option<TimeDelta>,
}

#[derive(Debug, Args)]
pub struct MigrateFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    /// Whose database it is: native (sweep's own tables), paperclip [default: as detected]
    #[arg(long, value_enum, hide_possible_values = true)]
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
    /// Only this plan, with its steps
    #[arg(long, value_name = "ID", value_parser = parse::id)]
    pub plan: Option<Id>,
    /// Only this tenant's work; sweeps and what came of them are everybody's
    #[arg(long, value_name = "TENANT", conflicts_with = "plan")]
    pub tenant: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum NotifyCommand {
    /// Send a test message to each destination, and a ping
    Test,
}

/// How the report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people
    #[default]
    Table,
    /// One document
    Json,
    /// One line for the heading, one per subject, then one for the sweep as a whole
    Ndjson,
}
