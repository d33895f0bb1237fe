//! The arguments of `sweep daemon`.

use chrono::TimeDelta;
use chrono_tz::Tz;
use clap::Args;

use super::ScopeFlags;
use super::values::SWITCH;
use crate::parse::{self, Http};
use crate::schedule::CronPattern;

/// Settings are read again on SIGHUP, with the same flags.
#[derive(Clone, Debug, Default, Args)]
pub struct DaemonFlags {
    /// When to sweep, as in a crontab, or @hourly, @daily … [default: */5 * * * *]
    ///
    /// Minute, hour, day of the month, month, day of the week; with six fields the second comes first.
    #[arg(long, value_name = "PATTERN", value_parser = CronPattern::parse, allow_hyphen_values = true)]
    pub schedule: Option<CronPattern>,
    /// The zone of the schedule, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", value_parser = parse::timezone)]
    pub timezone: Option<Tz>,
    /// Sweep later than scheduled by a random time below this [default: 0s]
    ///
    /// Never as late as the next time of the schedule.
    #[arg(long, value_name = "DURATION", value_parser = parse::duration, allow_hyphen_values = true)]
    pub jitter: Option<TimeDelta>,
    /// Sweep at the start as well: on, off [default: off]
    #[arg(long, value_name = "SWITCH", value_parser = SWITCH, hide_possible_values = true)]
    pub at_start: Option<bool>,
    /// Serve /healthz, /readyz and /metrics here, or off [default: 127.0.0.1:9464]
    #[arg(long, value_name = "ADDRESS", value_parser = parse::http)]
    pub http: Option<Http>,
    /// Hear of runs that end, and sweep their issues at once (PostgreSQL): on, off [default: off]
    #[arg(long, value_name = "SWITCH", value_parser = SWITCH, hide_possible_values = true)]
    pub listen: Option<bool>,
    /// Sweep an issue so long after its run has ended [default: the host's time]
    ///
    /// No less than its host needs to say what follows, which is the default.
    #[arg(long, value_name = "DURATION", value_parser = parse::duration, allow_hyphen_values = true)]
    pub listen_grace: Option<TimeDelta>,
    /// A sweep hangs when it makes no progress for longer [default: 5m]
    ///
    /// Then /healthz fails, and systemd's watchdog is not fed. At least 1s.
    #[arg(long, value_name = "DURATION", value_parser = parse::at_least_a_second, allow_hyphen_values = true)]
    pub hung_after: Option<TimeDelta>,
    #[command(flatten)]
    pub scope: ScopeFlags,
}

pub(super) const NOTES: &str = "\
When a day of the month and a day of the week are both given, both must match. Times are the wall clock's: a time that is written out, \
as in 30 2 * * *, comes once a day also when the clocks change; */5 and the like go on and on.

SIGTERM and SIGINT end it after the sweep in hand, with exit code 0; a second one at once. SIGHUP reads --config and \
the files of secrets again. Wrong settings, rights or schema at the start: exit code 78. A database that is down is waited for.";
