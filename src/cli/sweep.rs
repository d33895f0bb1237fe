//! The flags of a sweep, by hand or by the daemon.

use std::path::PathBuf;

use chrono::TimeDelta;
use clap::Args;

use super::help::{MACHINE, WHAT};
use super::values::{FORMAT, KIND_MODE, KINDS, STATEMENT_CACHE};
use super::{PolicyFlags, SubjectFlags};
use crate::parse;
use crate::report::Format;
use crate::rules::Kind;
use crate::store::candidates::Shard;
use crate::store::open::StatementCache;
use crate::sweep::KindMode;

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
    /// A plan is the output of `sweep --dry-run --output json`. Nothing else is touched, and each subject only if a fresh decision about it is the same. - reads the plan from stdin.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "session", "issue", "step", "tenant", "shard"])]
    pub apply: Option<PathBuf>,
    /// Print the report as a table, json or ndjson
    #[arg(short, long, value_name = "FORMAT", value_parser = FORMAT, hide_possible_values = true)]
    pub output: Option<Format>,
    #[command(flatten)]
    pub subjects: SubjectFlags,
    /// Conclusion with 2 if something was (in a dry run: would be) done
    #[arg(long, help_heading = MACHINE)]
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
    #[arg(long, value_name = "KINDS", value_delimiter = ',', value_parser = KINDS, hide_possible_values = true, help_heading = WHAT)]
    pub only: Option<Vec<Kind>>,
    /// Only what belongs to this tenant (Paperclip: the company's id)
    #[arg(long, value_name = "TENANT", value_parser = parse::words, help_heading = WHAT)]
    pub tenant: Option<String>,
    /// Only this part, such as 0/4: the work of one agent in four, so that four machines share a sweep
    #[arg(long, value_name = "I/N", value_parser = parse::shard, help_heading = WHAT)]
    pub shard: Option<Shard>,
    /// Work on this many subjects at once [default: 4]
    #[arg(long, value_name = "N", value_parser = parse::connections, allow_hyphen_values = true, help_heading = MACHINE)]
    pub connections: Option<u32>,
    /// Write metrics here after the sweep, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE", help_heading = MACHINE)]
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
    #[arg(long, value_name = "MODE", value_parser = KIND_MODE, hide_possible_values = true)]
    pub sessions: Option<KindMode>,
    /// Issues: on, shadow, off [default: on]
    #[arg(long, value_name = "MODE", value_parser = KIND_MODE, hide_possible_values = true)]
    pub issues: Option<KindMode>,
    /// Plan steps: on, shadow, off [default: on]
    #[arg(long, value_name = "MODE", value_parser = KIND_MODE, hide_possible_values = true)]
    pub steps: Option<KindMode>,
    /// Continue, escalate or report as abandoned at most this many subjects, the oldest first
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
    /// postgres://… or sqlite://PATH [default: DATABASE_URL]
    ///
    /// Without it: DATABASE_URL, else the file that DATABASE_URL_FILE names, else libpq's PG*, else the embedded database.
    /// A password belongs into DATABASE_URL_FILE, since everybody can read a command line.
    #[arg(short, long, value_name = "URL")]
    pub database: Option<String>,
    /// on, or off behind a transaction pooler that does not know prepared statements, such as PgBouncer before 1.21 [default: on]
    #[arg(long, value_name = "CACHE", value_parser = STATEMENT_CACHE, hide_possible_values = true, help_heading = MACHINE)]
    pub statement_cache: Option<StatementCache>,
}
