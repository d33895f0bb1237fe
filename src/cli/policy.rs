//! The flags of a policy: when something is broken, and how often it is continued.

use chrono::TimeDelta;
use clap::Args;

use super::values::{ESCALATION, SWITCH};
use crate::parse;
use crate::rules::{After, Escalation};

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
    #[arg(long, value_name = "HOW", value_parser = ESCALATION, hide_possible_values = true)]
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
    #[arg(long, value_name = "SWITCH", value_parser = SWITCH, hide_possible_values = true)]
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
