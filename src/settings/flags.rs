//! The flags of a sweep, by hand or by the daemon, that are given each time: the rest are settings.

use std::path::PathBuf;

use clap::{ArgAction, Args};

use crate::parse::{self, Entry, KINDS, List};
use crate::rules::Kind;

/// Behind the options that are a command's own.
pub const LAST: usize = 900;

pub const WHAT_TO_SWEEP: &str = "What to sweep";
pub const HOW_IT_RUNS: &str = "How it runs";

/// What every command has, before its name or after it.
#[derive(Clone, Debug, Default, Args)]
pub struct CommonFlags {
    /// Read settings from this file, lines of NAME=VALUE
    #[arg(long, value_name = "FILE", global = true, display_order = LAST, hide_short_help = true)]
    pub config: Option<PathBuf>,
    /// Print the summary of a sweep alone, and log errors only
    #[arg(short, long, global = true, display_order = LAST, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Log more, on stderr; -vv: more yet
    #[arg(short, long, global = true, display_order = LAST, action = ArgAction::Count)]
    pub verbose: u8,
}

#[derive(Debug, Default, Args)]
pub struct SweepFlags {
    /// Show what would be done and write nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Do not ask before writing, as at a terminal
    #[arg(short, long)]
    pub yes: bool,
    /// Do what this plan says, the output of `sweep -n -o json`; - is stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "session", "issue", "step", "tenant", "shard"])]
    pub apply: Option<PathBuf>,
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
    /// Only this plan step: its id, or as in "Release 2.4 #2"
    #[arg(long, value_name = "STEP", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub step: Option<String>,
}

impl SubjectFlags {
    pub fn named(self) -> Vec<(Kind, String)> {
        let named = [(Kind::Session, self.session), (Kind::Issue, self.issue), (Kind::Step, self.step)];
        named.into_iter().filter_map(|(kind, name)| Some((kind, name?))).collect()
    }
}

/// What any sweep looks at, started by hand or by the daemon.
#[derive(Clone, Debug, Default, Args)]
pub struct ScopeFlags {
    /// Only these kinds: sessions, issues, steps; -steps: all but these
    #[arg(long, value_name = "KINDS", value_parser = List(KINDS), value_delimiter = ',', allow_hyphen_values = true,
          hide_possible_values = true, help_heading = WHAT_TO_SWEEP)]
    pub only: Option<Vec<Entry<Kind>>>,
    /// Only what belongs to this tenant (Paperclip: the company's id)
    #[arg(long, value_name = "TENANT", value_parser = parse::non_empty, help_heading = WHAT_TO_SWEEP)]
    pub tenant: Option<String>,
    /// Go on although most of the work looks stranded
    #[arg(long, help_heading = HOW_IT_RUNS)]
    pub no_guard: bool,
}
