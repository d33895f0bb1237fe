//! The names of the settings that sweep knows: `SWEEP_…` in the environment or in the file of `--config`, and in lower
//! case without the prefix behind `--set`.

use clap::{Args, Command};

use super::definition::{Assignment, Known, PREFIX};
use super::environment::Environment;
use super::flags::{CommonFlags, SweepFlags};
use super::table::{all, find};
use crate::conclusion::{Failure, config};

/// Settings of earlier releases, and what there is in their place.
const GONE: [(&str, &str); 8] = [
    ("durable", "several subjects always wait for the disk together"),
    ("hung_after", "a sweep hangs when it makes no progress for ten times SWEEP_STATEMENT_TIMEOUT"),
    ("listen_grace", "the host says how long it needs after the end of a run"),
    ("lock_timeout", "a foreign-key check waits for a lock for at most 500ms"),
    ("output", "use the option --output"),
    ("relaunches_max", "a crashed session is relaunched once in an episode"),
    ("statement_cache", "sweep notices by itself when a pooler loses its prepared statements"),
    ("watch_interval", "how often a watcher looks follows from its thresholds"),
];

/// What there is in place of a setting of an earlier release.
pub fn instead_of(name: &str) -> Option<&'static str> {
    GONE.iter().find(|(gone, _)| *gone == name).map(|(_, instead)| *instead)
}

/// True if this variable may be kept in a file of its own, which the variable of the same name and `_FILE` names.
pub fn may_have_a_file(variable: &str) -> bool {
    variable == "DATABASE_URL" || find(variable).is_some_and(|known| known.is_secret)
}

/// All variables that are settings, in the order of the table.
pub fn variables() -> impl Iterator<Item = String> {
    let file = |known: &Known| known.is_secret.then(|| format!("{}_FILE", known.variable()));
    all().flat_map(move |known| [Some(known.variable()), file(known)]).flatten()
}

/// Kubernetes gives every pod such variables of a service that is named `sweep`, or `sweep-…`.
fn is_service_link(name: &str) -> bool {
    name == "PORT" || name.starts_with("PORT_") || name.contains("_PORT") || name.ends_with("SERVICE_HOST")
}

/// Refuses variables that are called as settings are, and are none.
pub fn refuse_unknown_in(environment: &Environment) -> Result<(), Failure> {
    environment.names().try_for_each(refuse_unknown)
}

/// Refuses a `SWEEP_…` that is not known.
pub fn refuse_unknown(variable: &str) -> Result<(), Failure> {
    let Some(name) = variable.strip_prefix(PREFIX).filter(|name| !is_service_link(name)) else { return Ok(()) };
    if variables().any(|known| known == variable) {
        return Ok(());
    }
    let lower = name.to_lowercase();
    let hint = match lower.as_str() {
        "database" | "database_url" | "db" | "db_url" | "url" => "the database's is DATABASE_URL".to_owned(),
        "database_url_file" | "database_file" => "the database's is DATABASE_URL_FILE".to_owned(),
        _ => hint(&lower, &variable.to_uppercase(), variables()),
    };
    Err(config(format!("{variable}: no such setting; {hint}")))
}

/// Reads the value of `--set`.
pub fn assignment(text: &str) -> Result<Assignment, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as orphan_grace=5m")?;
    let Some(known) = find(name.trim()) else {
        let lower = name.trim().to_lowercase();
        let lower = lower.strip_prefix("sweep_").unwrap_or(&lower);
        return Err(format!("no such setting; {}", hint(lower, lower, all().map(|known| known.name.to_owned()))));
    };
    if known.is_secret {
        let variable = known.variable();
        return Err(format!("everybody can read a command line: set {variable}, or {variable}_FILE"));
    }
    if known.name == "config" {
        return Err("use the option --config".to_owned());
    }
    known.assign(value)
}

/// What to do about a setting that there is not: `name` in lower case without a prefix, `written` as it was spelt.
fn hint(name: &str, written: &str, names: impl Iterator<Item = String>) -> String {
    if let Some(instead) = instead_of(name) {
        return instead.to_owned();
    }
    if is_option(name) {
        return format!("there is only the option --{}", name.replace('_', "-"));
    }
    match names.map(|known| (strsim::damerau_levenshtein(written, &known), known)).min() {
        Some((distance, known)) if distance <= 3 => format!("did you mean {known}?"),
        _ => "`sweep config` lists all that there are".to_owned(),
    }
}

/// True if this is an option that is given each time.
fn is_option(name: &str) -> bool {
    let command = CommonFlags::augment_args(SweepFlags::augment_args(Command::new("sweep")));
    command.get_arguments().any(|argument| argument.get_id() == name)
}
