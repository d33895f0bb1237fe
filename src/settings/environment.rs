//! The environment: the variables that sweep knows, as they came.
//!
//! An empty variable is an unset one; a `SWEEP_…` that is not known is refused, since a setting that is misspelt is a
//! setting that is off.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use secrecy::{ExposeSecret, SecretString};

use super::known::{KNOWN, Variables};
use super::pick;
use crate::cli::DatabaseFlag;
use crate::exit::{Refusal, config, usage};
use crate::parse;
use crate::store::open::Url;

/// The variables, as they came, and where each came from.
#[derive(Clone)]
pub struct Environment(BTreeMap<String, (String, Source)>);

/// Where a variable was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Environment,
    /// The file that `--config` names.
    File(PathBuf),
}

pub(super) const PREFIX: &str = "SWEEP_";

/// After half a minute a connection over TCP counts as lost whose other end confirms nothing (seconds, milliseconds).
const DEAD_AFTER: [(&str, &str); 4] =
    [("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000")];

impl Environment {
    pub fn of_process() -> Environment {
        #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
        let variables = std::env::vars_os();
        // A variable that is no UTF-8 is kept, so that a check of its value refuses it by name.
        let text = |os: std::ffi::OsString| os.to_string_lossy().into_owned();
        Environment::from(variables.map(|(name, value)| (text(name), text(value))))
    }

    /// For tests.
    pub fn of(variables: &[(&str, &str)]) -> Environment {
        Environment::from(variables.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())))
    }

    fn from(variables: impl Iterator<Item = (String, String)>) -> Environment {
        Environment(variables.map(|(name, value)| (name, (value, Source::Environment))).collect())
    }

    /// Adds what the file of `--config`, else of SWEEP_CONFIG, says and the environment does not: lines of NAME=VALUE.
    pub fn with_file(mut self, path: Option<&Path>) -> Result<Environment> {
        let Some(path) = path.map(Path::to_owned).or_else(|| self.get("SWEEP_CONFIG").map(PathBuf::from)) else {
            return Ok(self);
        };
        let refuse = |why: String| config(format!("--config {}: {why}", path.display()));
        let lines = dotenvy::from_path_iter(&path).map_err(|error| refuse(error.to_string()))?;
        for line in lines {
            let (name, value) = line.map_err(|error| refuse(error.to_string()))?;
            if !name.starts_with(PREFIX) && !["DATABASE_URL", "DATABASE_URL_FILE"].contains(&name.as_str()) {
                return Err(refuse(format!("{name}: expected SWEEP_…, DATABASE_URL or DATABASE_URL_FILE")).into());
            }
            if self.get(&name).is_none() {
                self.0.insert(name, (value, Source::File(path.clone())));
            }
        }
        Ok(self)
    }

    /// With this variable and those that it is right with only, and nothing else. Where there is no home either, that is no
    /// fault of the variable's.
    pub fn with_only(&self, name: &str) -> Environment {
        const TOGETHER: &str = "SWEEP_WEBHOOK_";
        let is_kept = |kept: &str| kept == name || (kept.starts_with(TOGETHER) && name.starts_with(TOGETHER));
        let alone = self.0.iter().filter(|(kept, _)| is_kept(kept)).map(|(kept, value)| (kept.clone(), value.clone()));
        let home = ("STATE_DIRECTORY".to_owned(), ("/".to_owned(), Source::Environment));
        Environment(alone.chain([home]).collect())
    }

    /// Empty is unset.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|(value, _)| value.as_str()).filter(|value| !value.trim().is_empty())
    }

    /// Where a variable that is not empty was set.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.get(name).and_then(|_| self.0.get(name)).map(|(_, source)| source)
    }

    /// A secret: its variable, else the file that the variable of the same name and `_FILE` names.
    pub fn secret(&self, name: &str) -> Result<Option<SecretString>> {
        if let Some(value) = self.get(name) {
            return Ok(Some(value.trim().into()));
        }
        let variable = format!("{name}_FILE");
        let Some(path) = self.get(&variable) else { return Ok(None) };
        let value = std::fs::read_to_string(path)
            .map_err(|error| config(format!("{variable}: cannot read {path}: {error}")))?;
        match value.trim() {
            "" => Err(config(format!("{variable}: {path} is empty")).into()),
            value => Ok(Some(value.into())),
        }
    }

    /// Where a secret was read: its variable, or the other one and the file.
    pub fn origin(&self, name: &str) -> String {
        let variable = format!("{name}_FILE");
        match (self.get(name), self.get(&variable)) {
            (None, Some(path)) => format!("{variable} ({path})"),
            (Some(_), _) | (None, None) => name.to_owned(),
        }
    }

    /// The names of what is set, and not to the same value, in the other one.
    pub fn differing(&self, other: &Environment) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(other.0.keys()).collect();
        names.into_iter().filter(|name| self.get(name) != other.get(name)).cloned().collect()
    }

    pub fn variables(&self) -> Result<Variables> {
        let ours = self.0.keys().filter_map(|name| name.strip_prefix(PREFIX));
        for name in ours.filter(|name| !is_service_link(name)) {
            if !KNOWN.iter().any(|known| known.name == name.to_lowercase()) {
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
        if let Some(url) = self.secret("DATABASE_URL")? {
            let refuse = |why| config(format!("{}: {why}", self.origin("DATABASE_URL")));
            return Url::parse(url.expose_secret()).map_err(|why| refuse(why).into());
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
    let names = || KNOWN.iter().map(|known| known.name);
    let lower = name.to_lowercase();
    let nearest = names().map(|known| (strsim::damerau_levenshtein(&lower, known), known)).min();
    let hint = match nearest {
        Some((distance, known)) if distance <= 4 => format!("; did you mean {PREFIX}{}?", known.to_uppercase()),
        _ => format!("; known are {PREFIX}… {}", names().collect::<Vec<_>>().join(", ").to_uppercase()),
    };
    config(format!("{PREFIX}{name}: no such setting{hint}"))
}
