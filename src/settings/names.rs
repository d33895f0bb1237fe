//! The names of the settings that sweep knows: `SWEEP_…` in the environment or in the file of `--config`.

use clap::{Args, Command};

use super::definition::{Known, PREFIX};
use super::flags::{CommonFlags, SweepFlags};
use super::table::all;
use crate::conclusion::{Failure, config};

/// May this variable be kept in a file of its own, which the variable of the same name and `_FILE` names?
pub fn may_have_a_file(variable: &str) -> bool {
    variable == "DATABASE_URL" || all().any(|known| known.is_secret && known.variable() == variable)
}

/// Is it called as a setting of sweep's is?
pub fn is_of_sweep(name: &str) -> bool {
    let is_word = |rest: &str| rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    ["DATABASE_URL", "DATABASE_URL_FILE"].contains(&name) || name.strip_prefix(PREFIX).is_some_and(is_word)
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

/// Is it an option that is given each time?
fn is_option(name: &str) -> bool {
    let command = CommonFlags::augment_args(SweepFlags::augment_args(Command::new("sweep")));
    command.get_arguments().any(|argument| argument.get_id() == name)
}

/// Refuses a `SWEEP_…` that is not known.
pub fn refuse_unknown(variable: &str) -> Result<(), Failure> {
    let Some(name) = variable.strip_prefix(PREFIX).filter(|name| !is_service_link(name)) else { return Ok(()) };
    if variables().any(|known| known == variable) {
        return Ok(());
    }
    let lower = name.to_lowercase();
    let nearest = variables().map(|known| (strsim::damerau_levenshtein(&variable.to_uppercase(), &known), known)).min();
    let hint = match (lower.as_str(), nearest) {
        ("database" | "database_url" | "db" | "db_url" | "url", _) => "the database's is DATABASE_URL".to_owned(),
        ("database_url_file" | "database_file", _) => "the database's is DATABASE_URL_FILE".to_owned(),
        (option, _) if is_option(option) => format!("there is only the option --{}", option.replace('_', "-")),
        (_, Some((distance, known))) if distance <= 3 => format!("did you mean {known}?"),
        _ => "`sweep config` lists all that there are".to_owned(),
    };
    Err(config(format!("{variable}: no such setting; {hint}")))
}
