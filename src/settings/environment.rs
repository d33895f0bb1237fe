//! The environment: the variables that sweep knows, as they came.
//!
//! An empty variable is an unset one; a `SWEEP_…` that is not known is refused, since a setting that is misspelt is a
//! setting that is off.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::pick;
use crate::cli::DatabaseFlag;
use crate::exit::{Refusal, config, usage};
use crate::parse;
use crate::store::open::Url;

/// The variables, as they came.
pub struct Environment(BTreeMap<String, String>);

macro_rules! known_settings {
    ($($name:ident),+ $(,)?) => {
        /// `SWEEP_…`, as strings: an error of envy's own would not name the variable.
        #[derive(Debug, Default, Deserialize)]
        pub struct Variables { $(pub $name: Option<String>),+ }

        const KNOWN: &[&str] = &[$(stringify!($name)),+];
    };
}
known_settings!(
    orphan_grace,
    step_stalled_after,
    session_silent_after,
    run_silent_after,
    wake_stuck_after,
    retry_delay,
    attempts_max,
    attempts_per_day_max,
    escalation,
    nudge_delay,
    nudges_max,
    nudge_message,
    auto_relaunch,
    relaunches_max,
    lock_timeout,
    statement_timeout,
    statement_cache,
    only,
    tenant,
    sessions,
    issues,
    steps,
    limit,
    deadline,
    wakes_per_agent_max,
    guard_share,
    guard_min,
    connections,
    output,
    watch_interval,
    log,
    log_format,
);

const PREFIX: &str = "SWEEP_";

/// After half a minute a connection over TCP counts as lost whose other end confirms nothing (seconds, milliseconds).
const DEAD_AFTER: [(&str, &str); 4] =
    [("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000")];

impl Environment {
    pub fn of_process() -> Environment {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
        let variables = std::env::vars_os();
        // A variable that is no UTF-8 is kept, so that a check of its value refuses it by name.
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        Environment(variables.map(|(name, value)| (text(name), text(value))).collect())
    }

    /// For tests.
    pub fn of(variables: &[(&str, &str)]) -> Environment {
        Environment(variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Empty is unset.
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.trim().is_empty())
    }

    pub fn variables(&self) -> Result<Variables> {
        let ours = self.0.keys().filter_map(|name| name.strip_prefix(PREFIX));
        for name in ours.filter(|name| !is_service_link(name)) {
            if !KNOWN.contains(&name.to_lowercase().as_str()) {
                return Err(unknown(name).into());
            }
        }
        let set = self.0.keys().filter_map(|name| Some((name.clone(), self.get(name)?.to_owned())));
        envy::prefixed(PREFIX).from_iter(set).context("reading the environment")
    }

    /// `--database`, else DATABASE_URL, else the file that DATABASE_URL_FILE names, else libpq's PG*, else the
    /// embedded database in the data directory.
    pub fn database(&self, flags: &DatabaseFlag) -> Result<Url> {
        let url = self.named_database(flags.database.as_deref())?;
        let cache = &self.variables()?.statement_cache;
        let cache = pick(flags.statement_cache, "statement_cache", cache, parse::statement_cache)?;
        let url = url.with(cache.unwrap_or_default()).or("fallback_application_name", "sweep");
        // Libpq would wait for ever, also for a server that vanished without a word.
        let url = DEAD_AFTER.iter().fold(url, |url, (parameter, value)| url.or(parameter, value));
        Ok(if self.get("PGCONNECT_TIMEOUT").is_none() { url.or("connect_timeout", "10") } else { url })
    }

    fn named_database(&self, flag: Option<&str>) -> Result<Url> {
        if let Some(url) = flag {
            return Url::parse(url).map_err(|why| usage(format!("--database: {why}")).into());
        }
        if let Some(url) = self.get("DATABASE_URL") {
            return Url::parse(url).map_err(|why| config(format!("DATABASE_URL: {why}")).into());
        }
        if let Some(path) = self.get("DATABASE_URL_FILE") {
            let url = std::fs::read_to_string(path)
                .map_err(|error| config(format!("DATABASE_URL_FILE: cannot read {path}: {error}")))?;
            return Url::parse(url.trim()).map_err(|why| config(format!("DATABASE_URL_FILE ({path}): {why}")).into());
        }
        if ["PGHOST", "PGHOSTADDR", "PGDATABASE", "PGSERVICE"].iter().any(|name| self.get(name).is_some()) {
            return Ok(Url::postgres(""));
        }
        Ok(Url::Sqlite(self.embedded_database()?))
    }

    fn embedded_database(&self) -> Result<PathBuf> {
        let directory = self
            .data_directory()
            .ok_or_else(|| config("no home directory for the embedded database: set DATABASE_URL"))?;
        Ok(directory.join("sweep.db"))
    }

    /// Where sweep keeps what is its own; systemd names the state directory of a service so.
    pub fn data_directory(&self) -> Option<PathBuf> {
        self.get("STATE_DIRECTORY").map(PathBuf::from).or_else(|| Some(dirs::data_dir()?.join("sweep")))
    }

    /// Where commands are looked for.
    pub fn search_path(&self) -> &str {
        self.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin")
    }

    /// The log filter, if it is set, and whether logs are JSON.
    pub fn log(&self) -> Result<(Option<String>, bool)> {
        let variables = self.variables()?;
        let json = match variables.log_format.as_deref() {
            None | Some("text") => false,
            Some("json") => true,
            Some(other) => return Err(malformed("log_format", other, "expected text or json").into()),
        };
        Ok((variables.log, json))
    }
}

pub fn malformed(name: &str, value: &str, why: &str) -> Refusal {
    config(format!("{PREFIX}{}: “{value}”: {why}", name.to_uppercase()))
}

/// Kubernetes gives every pod such variables of a service that is named `sweep`, or `sweep-…`.
fn is_service_link(name: &str) -> bool {
    name == "PORT" || name.starts_with("PORT_") || name.contains("_PORT") || name.ends_with("SERVICE_HOST")
}

fn unknown(name: &str) -> Refusal {
    let lower = name.to_lowercase();
    let nearest = KNOWN.iter().map(|known| (strsim::damerau_levenshtein(&lower, known), known)).min();
    let hint = match nearest {
        Some((distance, known)) if distance <= 4 => format!("; did you mean {PREFIX}{}?", known.to_uppercase()),
        _ => format!("; known are {PREFIX}… {}", KNOWN.join(", ").to_uppercase()),
    };
    config(format!("{PREFIX}{name}: no such setting{hint}"))
}
