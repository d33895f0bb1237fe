//! What is set, and where: on the command line, in the process's variables, or in the file of `--config`, which win in
//! this order.
//!
//! An empty variable is an unset one; a `SWEEP_…` that is not known is refused, since a setting that is misspelt is a
//! setting that is off.

use std::collections::BTreeMap;
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Error, Result};
use chrono_tz::Tz;
use secrecy::{ExposeSecret, SecretString};
use tracing::warn;

use super::definition::{Assignment, PREFIX, Parser, is_of_sweep, variable};
use crate::conclusion::{Failure, conclusion_of, config, usage};
use crate::files::{self, SETTINGS_BYTES_MAX};
use crate::screen::VARIABLE;
use crate::text::redact;

/// The variables, as they came, and where each came from.
#[derive(Clone, Default)]
pub struct Environment {
    pub(super) variables: BTreeMap<String, (String, SetIn)>,
    /// The settings among the variables, by the names of the table: made when the first one is read.
    settings: OnceLock<BTreeMap<String, String>>,
    /// The databases that the command line names.
    pub(super) typed_databases: Vec<String>,
    /// What was noticed before there was a log.
    pub(super) warnings: Vec<String>,
}

/// Where a variable was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetIn {
    /// With an option, such as `--set`.
    CommandLine,
    Environment,
    /// The file that `--config` names, and its line.
    File(PathBuf, usize),
}

/// What a command line says of settings.
#[derive(Clone, Debug, Default)]
pub struct TypedSettings {
    /// Each `--database`.
    pub databases: Vec<String>,
    /// Each `--set`, and each option that is a setting by its own name.
    pub assignments: Vec<Assignment>,
    /// The file of `--config`.
    pub file: Option<PathBuf>,
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
        let variables = variables.map(|(name, value)| (name, (value, SetIn::Environment))).collect();
        Environment { variables, ..Environment::default() }
    }

    /// Adds what the command line says, which wins over everything else.
    pub fn with(mut self, typed: &TypedSettings) -> Environment {
        for Assignment { name, value } in &typed.assignments {
            self.set(variable(name), value.clone(), SetIn::CommandLine);
        }
        self.typed_databases.clone_from(&typed.databases);
        self
    }

    /// Sets a variable that is not set yet.
    pub(super) fn complete(&mut self, name: String, value: String, set_in: SetIn) {
        if self.get(&name).is_none() {
            self.set(name, value, set_in);
        }
    }

    fn set(&mut self, name: String, value: String, set_in: SetIn) {
        self.variables.insert(name, (value, set_in));
        self.settings = OnceLock::new();
    }

    /// What the command line alone says.
    pub fn typed_alone(&self) -> Environment {
        let typed = self.variables.iter().filter(|(_, (_, set_in))| *set_in == SetIn::CommandLine);
        let variables = typed.map(|(name, value)| (name.clone(), value.clone())).collect();
        Environment { variables, ..Environment::default() }
    }

    /// An environment of this variable alone, with those without which it is wrong. That there is no home either is no
    /// fault of the variable's.
    pub fn with_only(&self, name: &str) -> Environment {
        const TOGETHER: &str = "SWEEP_WEBHOOK_";
        let is_kept = |kept: &str| kept == name || (kept.starts_with(TOGETHER) && name.starts_with(TOGETHER));
        let alone =
            self.variables.iter().filter(|(kept, _)| is_kept(kept)).map(|(kept, value)| (kept.clone(), value.clone()));
        let home = ("STATE_DIRECTORY".to_owned(), ("/".to_owned(), SetIn::Environment));
        Environment { variables: alone.chain([home]).collect(), ..Environment::default() }
    }

    /// The names of the process's variables that are sweep's own: its settings, and what libpq reads to find the
    /// database and to log in.
    pub fn own_variables(&self) -> Vec<String> {
        let of_process =
            self.variables.iter().filter(|(_, (_, source))| *source == SetIn::Environment).map(|(name, _)| name);
        of_process.filter(|name| is_of_sweep(name) || name.starts_with("PG")).cloned().collect()
    }

    /// Empty is unset.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(|(value, _)| value.as_str()).filter(|value| !value.trim().is_empty())
    }

    /// Where a variable that is not empty was set.
    pub fn source(&self, name: &str) -> Option<&SetIn> {
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
        // Its writers choose where passwords and messages go.
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

    /// This environment with another database, as if DATABASE_URL named it.
    pub fn with_database(mut self, url: String) -> Environment {
        self.typed_databases.clear();
        self.set("DATABASE_URL".to_owned(), url, SetIn::Environment);
        self
    }

    /// The text of a secret, to be written to a file of its own.
    pub fn secret_text(&self, name: &str) -> Result<Option<String>> {
        Ok(self.secret(name)?.map(|secret| secret.expose_secret().to_owned()))
    }

    /// What was noticed before there was a log, as it may be shown.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
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

    /// The value of a setting of the table, if it is set.
    pub(super) fn read<T>(&self, name: &str, parser: &impl Parser<T>) -> Result<Option<T>> {
        let settings = || envy::prefixed(PREFIX).from_iter(self.values()).expect("names and values are texts");
        let Some(value) = self.settings.get_or_init(settings).get(name) else { return Ok(None) };
        let value = parser.read(value).map_err(|why| config(format!("{}: “{value}”: {why}", variable(name))))?;
        Ok(Some(value))
    }

    /// An error about a setting of the file, with where it stands there.
    pub fn locate(&self, error: Error) -> Error {
        let message = format!("{error:#}");
        let setting = message.split(':').next().and_then(|name| self.source(name));
        match setting {
            Some(SetIn::File(path, line)) => {
                Failure::new(conclusion_of(&error), format!("{}, line {line}: {message}", path.display())).into()
            }
            Some(SetIn::CommandLine | SetIn::Environment) | None => error,
        }
    }

    /// Where sweep keeps what is its own; systemd names the state directory of a service so.
    pub fn data_directory(&self) -> Option<PathBuf> {
        self.get("STATE_DIRECTORY").map(PathBuf::from).or_else(|| Some(dirs::data_dir()?.join("sweep")))
    }

    /// The name of the person who asks for something: the one that is given, else that of this process's user.
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

    /// The device and the inode of systemd's journal, when that is where a service's output goes.
    pub fn journal_stream(&self) -> Option<&str> {
        self.get("JOURNAL_STREAM")
    }

    /// A variable of OpenTelemetry's, named without its `OTEL_`.
    pub fn otel(&self, name: &str) -> Option<&str> {
        self.get(&format!("OTEL_{name}"))
    }

    /// The zone of this machine, for times that name none.
    pub fn zone(&self) -> Tz {
        let name = self.get("TZ").map(|name| name.trim_start_matches(':').to_owned());
        let name = name.or_else(|| iana_time_zone::get_timezone().ok());
        name.and_then(|name| name.parse().ok()).unwrap_or(Tz::UTC)
    }

    /// True if the operator's terminal knows titles and notifications, some of which the console of Linux prints.
    pub fn shows_sequences(&self) -> bool {
        stdout().is_terminal() && !matches!(self.get("TERM"), None | Some("dumb" | "linux"))
    }

    /// Where the watcher listens that started this process, if one did.
    pub fn watcher(&self) -> Option<PathBuf> {
        self.get(VARIABLE).map(PathBuf::from)
    }
}

pub(super) fn shown_path(path: &str) -> String {
    match path_of_secret(path) {
        HIDDEN => format!("{HIDDEN} (write a path as /… or ./… to have it shown)"),
        path => path.to_owned(),
    }
}

/// What a secret looks like.
pub(super) const HIDDEN: &str = "***";

/// A path, as it may be shown: what does not look like one may be the secret itself, in the wrong variable.
pub(super) fn path_of_secret(path: &str) -> &str {
    let is_path = ["/", "./", "../"].iter().any(|start| path.starts_with(start));
    if is_path { path } else { HIDDEN }
}
