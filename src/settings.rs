//! Flags, environment and defaults → `Settings`. Nobody else reads the environment.
//!
//! Flags win over the environment, the environment over the defaults. An empty variable is an unset one; a `SWEEP_…`
//! that is not known is refused, since a setting that is misspelt is a setting that is off.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cli::{Format, PolicyFlags, SweepFlags};
use crate::exit::{Refusal, config, usage};
use crate::parse;
use crate::rules::{Id, Kind, Policy};
use crate::store::Timeouts;
use crate::store::open::Url;

/// One sweep, as the operator wants it.
#[derive(Clone, Debug)]
pub struct Settings {
    pub database: Url,
    pub dry_run: bool,
    pub selection: Selection,
    /// Continuations and escalations at most.
    pub limit: Option<u32>,
    pub connections: u32,
    pub output: Format,
    pub detailed_exitcode: bool,
    pub policy: Policy,
    pub timeouts: Timeouts,
}

/// Which subjects to look at.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// All candidates of these kinds.
    Kinds(Vec<Kind>),
    /// These, whether they are candidates or not.
    Subjects(Vec<(Kind, Id)>),
}

/// The variables, as they came.
pub struct Environment(BTreeMap<String, String>);

macro_rules! known_settings {
    ($($name:ident),+ $(,)?) => {
        /// `SWEEP_…`, as strings: an error of envy's own would not name the variable.
        #[derive(Debug, Default, Deserialize)]
        struct Variables { $($name: Option<String>),+ }

        const KNOWN: &[&str] = &[$(stringify!($name)),+];
    };
}
known_settings!(
    orphan_grace,
    step_stalled_after,
    wake_stuck_after,
    retry_delay,
    attempts_max,
    attempts_per_day_max,
    escalation,
    lock_timeout,
    statement_timeout,
    only,
    limit,
    connections,
    output,
    log,
    log_format,
);

const PREFIX: &str = "SWEEP_";

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

    fn variables(&self) -> Result<Variables> {
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
    pub fn database(&self, flag: Option<&str>) -> Result<Url> {
        let url = self.named_database(flag)?;
        let url = url.or("fallback_application_name", "sweep");
        // libpq would wait for ever.
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
            return Ok(Url::Postgres(String::new()));
        }
        Ok(Url::Sqlite(self.embedded_database()?))
    }

    fn embedded_database(&self) -> Result<PathBuf> {
        // systemd names the state directory of a service so.
        let directory =
            self.get("STATE_DIRECTORY").map(PathBuf::from).or_else(|| Some(dirs::data_dir()?.join("sweep")));
        let directory =
            directory.ok_or_else(|| config("no home directory for the embedded database: set DATABASE_URL"))?;
        Ok(directory.join("sweep.db"))
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

impl Settings {
    pub fn resolve(flags: SweepFlags, environment: &Environment) -> Result<Settings> {
        let variables = environment.variables()?;
        let (policy, timeouts) = resolve_policy(flags.policy, &variables)?;
        if flags.only.is_some() && (flags.issue.is_some() || flags.step.is_some()) {
            return Err(usage("--only names kinds, --issue and --step name subjects: give one or the other").into());
        }
        let mut only = pick(flags.only, "only", &variables.only, parse::kinds)?;
        if let Some(kinds) = &mut only {
            kinds.sort();
            kinds.dedup();
        }
        let subjects: Vec<(Kind, Id)> =
            flags.issue.map(|id| (Kind::Issue, id)).into_iter().chain(flags.step.map(|id| (Kind::Step, id))).collect();
        let selection = match subjects.is_empty() {
            true => Selection::Kinds(only.unwrap_or_else(|| Kind::ALL.to_vec())),
            false => Selection::Subjects(subjects),
        };
        Ok(Settings {
            database: environment.database(flags.database.database.as_deref())?,
            dry_run: flags.dry_run,
            selection,
            limit: pick(flags.limit, "limit", &variables.limit, parse::positive)?,
            connections: pick(flags.connections, "connections", &variables.connections, parse::connections)?
                .unwrap_or(4),
            output: pick(flags.output, "output", &variables.output, parse::format)?.unwrap_or_default(),
            detailed_exitcode: flags.detailed_exitcode,
            policy,
            timeouts,
        })
    }
}

fn resolve_policy(flags: PolicyFlags, variables: &Variables) -> Result<(Policy, Timeouts)> {
    let default = Policy::default();
    macro_rules! setting {
        ($name:ident, $parse:path, $default:expr) => {
            pick(flags.$name, stringify!($name), &variables.$name, $parse)?.unwrap_or($default)
        };
    }
    let policy = Policy {
        orphan_grace: setting!(orphan_grace, parse::duration, default.orphan_grace),
        step_stalled_after: setting!(step_stalled_after, parse::positive_duration, default.step_stalled_after),
        wake_stuck_after: setting!(wake_stuck_after, parse::at_least_a_minute, default.wake_stuck_after),
        retry_delay: setting!(retry_delay, parse::duration, default.retry_delay),
        attempts_max: setting!(attempts_max, parse::number, default.attempts_max),
        attempts_per_day_max: setting!(attempts_per_day_max, parse::number, default.attempts_per_day_max),
        escalation: setting!(escalation, parse::escalation, default.escalation),
    };
    let timeouts = Timeouts {
        lock: setting!(lock_timeout, parse::lock_timeout, Timeouts::default().lock),
        statement: setting!(statement_timeout, parse::statement_timeout, Timeouts::default().statement),
    };
    Ok((policy, timeouts))
}

/// The flag, else the variable.
fn pick<T>(
    flag: Option<T>,
    name: &str,
    variable: &Option<String>,
    parse: fn(&str) -> Result<T, String>,
) -> Result<Option<T>> {
    match (flag, variable) {
        (Some(flag), _) => Ok(Some(flag)),
        (None, None) => Ok(None),
        (None, Some(value)) => parse(value).map(Some).map_err(|why| malformed(name, value, &why).into()),
    }
}

fn malformed(name: &str, value: &str, why: &str) -> Refusal {
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

/// For commands that look and do not sweep.
impl Environment {
    pub fn policy(&self) -> Result<(Policy, Timeouts)> {
        resolve_policy(PolicyFlags::default(), &self.variables()?)
    }

    /// None when it is not set: then the latest sweep's tells more than the default does.
    pub fn step_stalled_after(&self) -> Result<Option<chrono::TimeDelta>> {
        let variables = self.variables()?;
        pick(None, "step_stalled_after", &variables.step_stalled_after, parse::positive_duration)
    }
}
