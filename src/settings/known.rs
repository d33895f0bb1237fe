//! The settings that sweep knows: `SWEEP_…` in the environment or in the file of `--config`.

use serde::Deserialize;

use super::environment::PREFIX;
use crate::conclusion::{Failure, config};

/// One setting.
pub struct Known {
    /// As in `SWEEP_…`, in lower case.
    pub name: &'static str,
    /// Empty: none.
    pub default: &'static str,
}

/// May this variable be kept in a file of its own, which the variable of the same name and `_FILE` names? It holds a secret, or
/// names who gets one.
pub fn may_have_a_file(variable: &str) -> bool {
    let file = variable.strip_prefix("SWEEP_").map(|name| format!("{}_file", name.to_lowercase()));
    variable == "DATABASE_URL" || file.is_some_and(|file| KNOWN.iter().any(|known| known.name == file))
}

macro_rules! known_settings {
    ($($name:ident: $default:literal),+ $(,)?) => {
        /// `SWEEP_…`, as strings: an error of envy's own would not name the variable.
        #[derive(Debug, Default, Deserialize)]
        pub struct Variables { $(pub $name: Option<String>),+ }

        pub const KNOWN: &[Known] = &[$(Known { name: stringify!($name), default: $default }),+];
    };
}
known_settings! {
    orphan_grace: "2m",
    step_stalled_after: "30m",
    session_silent_after: "5m",
    run_silent_after: "1h",
    session_waiting_after: "10s",
    session_no_progress_after: "15m",
    wake_stuck_after: "1h",
    abandoned_after: "1h",
    paused_after: "off",
    retry_delay: "5m",
    attempts_max: "1",
    attempts_per_day_max: "4",
    escalation: "comment_and_block",
    nudge_delay: "2m",
    nudges_max: "2",
    nudge_message: "You seem to be stuck. Go on with your task, or say what you need.",
    auto_relaunch: "off",
    relaunches_max: "1",
    lock_timeout: "500ms",
    statement_timeout: "30s",
    statement_cache: "on",
    only: "sessions,issues,steps",
    tenant: "",
    shard: "0/1",
    sessions: "on",
    issues: "on",
    steps: "on",
    limit: "",
    deadline: "10m",
    wakes_per_agent_max: "10",
    guard_share: "0.5",
    guard_min: "20",
    connections: "4",
    output: "table",
    metrics_file: "",
    slack_url: "",
    slack_url_file: "",
    webhook_url: "",
    webhook_url_file: "",
    webhook_secret: "",
    webhook_secret_file: "",
    ping_url: "",
    ping_url_file: "",
    notify_on: "escalated,session_stuck,guard_stopped,quarantined,wakes_stuck,abandoned",
    notify_private: "off",
    schedule: "*/5 * * * *",
    timezone: "UTC",
    jitter: "0s",
    at_start: "off",
    http: "127.0.0.1:9464",
    listen: "off",
    listen_grace: "",
    hung_after: "5m",
    watch_interval: "2s",
    config: "",
    log: "info",
    log_format: "text",
}

/// Kubernetes gives every pod such variables of a service that is named `sweep`, or `sweep-…`.
fn is_service_link(name: &str) -> bool {
    name == "PORT" || name.starts_with("PORT_") || name.contains("_PORT") || name.ends_with("SERVICE_HOST")
}

/// What is said anew each time.
const ONLY_OPTIONS: [&str; 10] =
    ["dry_run", "yes", "apply", "session", "issue", "step", "no_guard", "detailed_exitcode", "quiet", "verbose"];

/// Refuses a `SWEEP_…` that is not known.
pub(super) fn refuse_unknown(variable: &str) -> Result<(), Failure> {
    let Some(name) = variable.strip_prefix(PREFIX).filter(|name| !is_service_link(name)) else { return Ok(()) };
    let names = || KNOWN.iter().map(|known| known.name);
    let lower = name.to_lowercase();
    if names().any(|known| known == lower) && name == lower.to_uppercase() {
        return Ok(());
    }
    let nearest = names().map(|known| (strsim::damerau_levenshtein(&lower, known), known)).min();
    let hint = match (lower.as_str(), nearest) {
        ("database" | "database_url" | "db" | "db_url" | "url", _) => "the database's is DATABASE_URL".to_owned(),
        ("database_url_file" | "database_file", _) => "the database's is DATABASE_URL_FILE".to_owned(),
        (option, _) if ONLY_OPTIONS.contains(&option) => {
            format!("there is only the option --{}", option.replace('_', "-"))
        }
        (_, Some((distance, known))) if distance <= 3 => format!("did you mean {PREFIX}{}?", known.to_uppercase()),
        _ => "`sweep config` lists all that there are".to_owned(),
    };
    Err(config(format!("{variable}: no such setting; {hint}")))
}
