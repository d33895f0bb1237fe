//! The flags of a sweep, by hand or by the daemon: those of the table of settings, and those that are given each time.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use super::table::{
    CacheFlag, HOW_IT_RUNS, HttpFlag, LAST, LIMITS, LimitFlags, MachineFlags, PageFlag, RecoveryFlags, ScheduleFlags,
    SelectionFlags, StrandedFlags, TimeoutFlags, WHAT_TO_SWEEP,
};
pub use super::table::{ConfigFlag, IntervalFlag, LinkFlag, OutputFlag, PageAccessFlags};
use crate::parse;
use crate::rules::Kind;

/// What every command has, before its name or after it.
#[derive(Clone, Debug, Default, Args)]
pub struct CommonFlags {
    #[command(flatten)]
    pub config: ConfigFlag,
    /// Print the summary of a sweep alone, and log errors only
    ///
    /// Commands that only confirm what they did (migrate, exempt, quarantine release) print nothing. JSON is printed as
    /// ever.
    #[arg(short, long, global = true, display_order = LAST, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more, on stderr; -vv: more yet
    ///
    /// One step more than usual: at a terminal from errors to what is done and then to details, elsewhere from what is
    /// done to details. Like -q, it wins over SWEEP_LOG.
    #[arg(short, long, global = true, display_order = LAST, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Default, Args)]
pub struct SweepFlags {
    /// Show what would be done and write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask before writing, as at a terminal
    ///
    /// It asks when stdin and stderr are terminals: it shows the plan, and does what was shown when the answer is yes.
    /// Elsewhere, as from cron, it never asks.
    #[arg(short, long)]
    pub yes: bool,
    /// Do what this plan says, and nothing else
    ///
    /// A plan is the output of `sweep --dry-run --output json`. Nothing else is touched, and each subject only if a
    /// fresh decision about it is the same. - reads the plan from stdin.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "session", "issue", "step", "tenant", "shard"])]
    pub apply: Option<PathBuf>,
    #[command(flatten)]
    pub output: OutputFlag,
    #[command(flatten)]
    pub subjects: SubjectFlags,
    /// Exit with 2 if something was (in a dry run: would be) done
    #[arg(long, help_heading = HOW_IT_RUNS)]
    pub detailed_exitcode: bool,
    #[command(flatten)]
    pub scope: ScopeFlags,
}

/// Only these subjects.
#[derive(Debug, Default, Args)]
pub struct SubjectFlags {
    /// Only this session: its id, or what people call it
    #[arg(long, value_name = "SESSION", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub session: Option<String>,
    /// Only this issue: its id, or what people call it, such as ACM-12
    #[arg(long, value_name = "ISSUE", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub issue: Option<String>,
    /// Only this plan step: its id, or its plan and position, such as "Release 2.4 #2"
    #[arg(long, value_name = "STEP", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub step: Option<String>,
}

impl SubjectFlags {
    pub fn named(self) -> Vec<(Kind, String)> {
        let named = [(Kind::Session, self.session), (Kind::Issue, self.issue), (Kind::Step, self.step)];
        named.into_iter().filter_map(|(kind, name)| Some((kind, name?))).collect()
    }
}

/// What any sweep looks at and goes by, started by hand or by the daemon.
#[derive(Clone, Debug, Default, Args)]
pub struct ScopeFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    #[command(flatten)]
    pub selection: SelectionFlags,
    #[command(flatten)]
    pub machine: MachineFlags,
    #[command(flatten)]
    pub links: LinkFlag,
    #[command(flatten)]
    pub limits: LimitFlags,
    /// Go on although most of the work looks stranded
    #[arg(long, help_heading = LIMITS)]
    pub no_guard: bool,
    #[command(flatten)]
    pub policy: PolicyFlags,
}

/// When something is broken, and how often it is continued.
#[derive(Clone, Debug, Default, Args)]
pub struct PolicyFlags {
    #[command(flatten)]
    pub stranded: StrandedFlags,
    #[command(flatten)]
    pub recovery: RecoveryFlags,
    #[command(flatten)]
    pub timeouts: TimeoutFlags,
}

#[derive(Clone, Debug, Default, Args)]
pub struct DatabaseFlag {
    /// postgres://… or sqlite://PATH [default: DATABASE_URL]
    ///
    /// Without it: DATABASE_URL, else the file that DATABASE_URL_FILE names, else libpq's PG*, else the embedded
    /// database. A password belongs into DATABASE_URL_FILE, since everybody can read a command line. `sweep`, its
    /// daemon, `status`, `attention` and `page` take several: the option again, or a pattern such as
    /// 'sqlite:///srv/boards/*.db'.
    #[arg(short, long, value_name = "URL")]
    pub database: Vec<String>,
    #[command(flatten)]
    pub cache: CacheFlag,
}

/// Settings are read again on SIGHUP, with the same flags.
#[derive(Clone, Debug, Default, Args)]
pub struct DaemonFlags {
    #[command(flatten)]
    pub schedule: ScheduleFlags,
    #[command(flatten)]
    pub http: HttpFlag,
    #[command(flatten)]
    pub page: PageFlag,
    #[command(flatten)]
    pub page_access: PageAccessFlags,
    #[command(flatten)]
    pub scope: ScopeFlags,
}

/// The page without a schedule.
#[derive(Clone, Debug, Default, Args)]
pub struct PageFlags {
    #[command(flatten)]
    pub database: DatabaseFlag,
    #[command(flatten)]
    pub http: HttpFlag,
    #[command(flatten)]
    pub access: PageAccessFlags,
    #[command(flatten)]
    pub links: LinkFlag,
    #[command(flatten)]
    pub policy: PolicyFlags,
}
