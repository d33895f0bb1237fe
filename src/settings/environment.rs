//! The environment: the variables that sweep knows, as they came.
//!
//! An empty variable is an unset one; a `SWEEP_…` that is not known is refused, since a setting that is misspelt is a
//! setting that is off.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use secrecy::SecretString;
use tracing::warn;

use super::definition::PREFIX;
use super::names::{is_of_sweep, refuse_unknown};
use super::table::Variables;
use crate::conclusion::{config, usage};
use crate::files::{self, SETTINGS_BYTES_MAX};
use crate::text::redact;

/// The variables, as they came, and where each came from.
#[derive(Clone, Default)]
pub struct Environment {
    pub(super) variables: BTreeMap<String, (String, Source)>,
    /// What was noticed before there was a log.
    pub(super) warnings: Vec<String>,
}

/// Where a variable was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Environment,
    /// The file that `--config` names, and its line.
    File(PathBuf, usize),
}

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
        let variables = variables.map(|(name, value)| (name, (value, Source::Environment))).collect();
        Environment { variables, ..Environment::default() }
    }

    /// With this variable and those that it is right with only, and nothing else. Where there is no home either, that
    /// is no fault of the variable's.
    pub fn with_only(&self, name: &str) -> Environment {
        const TOGETHER: &str = "SWEEP_WEBHOOK_";
        let is_kept = |kept: &str| kept == name || (kept.starts_with(TOGETHER) && name.starts_with(TOGETHER));
        let alone =
            self.variables.iter().filter(|(kept, _)| is_kept(kept)).map(|(kept, value)| (kept.clone(), value.clone()));
        let home = ("STATE_DIRECTORY".to_owned(), ("/".to_owned(), Source::Environment));
        Environment { variables: alone.chain([home]).collect(), ..Environment::default() }
    }

    /// The names of the process's variables that are sweep's own: its settings, and what libpq reads to find the
    /// database and to log in.
    pub fn own_variables(&self) -> Vec<String> {
        let of_process =
            self.variables.iter().filter(|(_, (_, source))| *source == Source::Environment).map(|(name, _)| name);
        of_process.filter(|name| is_of_sweep(name) || name.starts_with("PG")).cloned().collect()
    }

    /// Empty is unset.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|(value, _)| value.as_str()).filter(|value| !value.trim().is_empty())
    }

    /// Where a variable that is not empty was set.
    pub fn source(&self, name: &str) -> Option<&Source> {
        self.get(name).and_then(|_| self.variables.get(name)).map(|(_, source)| source)
    }

    /// A secret: its variable, else the file that the variable of the same name and `_FILE` names.
    pub fn secret(&self, name: &str) -> Result<Option<SecretString>> {
        if let Some(value) = self.get(name) {
            return Ok(Some(value.trim().into()));
        }
        let variable = format!("{name}_FILE");
        let Some(path) = self.get(&variable) else { return Ok(None) };
        let refuse = |why: String| config(format!("{variable}: cannot read {}: {why}", shown_path(path)));
        let found = files::read_own(Path::new(path), SETTINGS_BYTES_MAX).map_err(refuse)?;
        // Who writes it chooses whom passwords and messages go to.
        if found.is_open_to_others {
            return Err(refuse("others may write this file: chmod go-w".to_owned()).into());
        }
        let value = String::from_utf8(found.bytes).map_err(|_| refuse("expected UTF-8".to_owned()))?;
        if value.contains('\0') {
            return Err(refuse("expected no NUL character".to_owned()).into());
        }
        match value.trim() {
            "" => Err(refuse("it is empty".to_owned()).into()),
            value => Ok(Some(value.into())),
        }
    }

    /// What was noticed before there was a log.
    pub fn log_warnings(&self) {
        self.warnings.iter().for_each(|warning| warn!("{}", redact(warning)));
    }

    /// Where a secret was read: its variable, or the other one and the file.
    pub fn origin(&self, name: &str) -> String {
        let variable = format!("{name}_FILE");
        match (self.get(name), self.get(&variable)) {
            (None, Some(path)) => format!("{variable} ({path})"),
            (Some(_), _) | (None, None) => name.to_owned(),
        }
    }

    /// The names and values of all that is set. Some are secrets.
    pub fn values(&self) -> BTreeMap<String, String> {
        self.variables.keys().filter_map(|name| Some((name.clone(), self.get(name)?.to_owned()))).collect()
    }

    pub fn variables(&self) -> Result<Variables> {
        self.variables.keys().try_for_each(|name| refuse_unknown(name))?;
        envy::prefixed(PREFIX).from_iter(self.values()).context("reading the environment")
    }

    /// Where sweep keeps what is its own; systemd names the state directory of a service so.
    pub fn data_directory(&self) -> Option<PathBuf> {
        self.get("STATE_DIRECTORY").map(PathBuf::from).or_else(|| Some(dirs::data_dir()?.join("sweep")))
    }

    /// Who asks for something: the name that is given, else that of this process's user.
    pub fn person(&self, name: Option<String>) -> Result<String> {
        match name {
            Some(name) => Ok(name),
            None => whoami::username()
                .map_err(|_| usage("this process's user has no name: say who asks, by --as NAME").into()),
        }
    }

    /// Where commands are looked for.
    pub fn search_path(&self) -> &str {
        self.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin")
    }
}

pub(super) fn shown_path(path: &str) -> String {
    match path_of_secret(path) {
        HIDDEN => format!("{HIDDEN} (write a path as /… or ./… to have it shown)"),
        path => path.to_owned(),
    }
}

const HIDDEN: &str = "***";

/// A path, as it may be shown: what does not look like one may be the secret itself, in the wrong variable.
pub(super) fn path_of_secret(path: &str) -> &str {
    let is_path = ["/", "./", "../"].iter().any(|start| path.starts_with(start));
    if is_path { path } else { HIDDEN }
}
