//! Flags, environment and defaults → `Settings`. Nobody else reads the environment.
//!
//! Flags win over the environment, the environment over the defaults.

mod daemon;
pub mod effective;
mod environment;
mod file;
pub mod known;
mod log;
mod notify;
mod plan;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;
use chrono::TimeDelta;

use crate::cli::{Format, PolicyFlags, SweepFlags};
use crate::exit::{config, usage};
use crate::metrics;
use crate::notify::Notify;
use crate::parse;
use crate::report::heading::KindMode;
use crate::report::plan::Plan;
use crate::report::table::Detail;
use crate::rules::{Guard, Id, Kind, Policy};
use crate::store::Timeouts;
use crate::store::candidates::{Portion, Shard};
use crate::store::open::Url;
pub use daemon::DaemonSettings;
use environment::malformed;
pub use environment::{Environment, Source};
use known::Variables;

/// One sweep, as the operator wants it.
#[derive(Clone, Debug)]
pub struct Settings {
    pub database: Url,
    pub dry_run: bool,
    pub selection: Selection,
    pub tenant: Option<String>,
    /// None of these, which the guard held back before (the daemon, when it hears that runs have ended).
    pub held: Vec<Portion>,
    /// Only this part of what is selected.
    pub shard: Option<Shard>,
    /// What is done about each kind; on, unless it says otherwise.
    pub modes: BTreeMap<Kind, KindMode>,
    /// Continuations and escalations at most.
    pub limit: Option<u32>,
    /// Nothing is begun after it.
    pub deadline: TimeDelta,
    pub wakes_per_agent_max: u32,
    /// None: it was told to go on whatever it sees.
    pub guard: Option<Guard>,
    pub connections: u32,
    pub output: Format,
    /// How much of a report for people is printed.
    pub detail: Detail,
    /// On a terminal, a line that moves.
    pub shows_progress: bool,
    pub detailed_exitcode: bool,
    /// Where node_exporter reads metrics.
    pub metrics_file: Option<PathBuf>,
    pub notify: Notify,
    pub policy: Policy,
    pub timeouts: Timeouts,
}

/// Which subjects to look at.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// All candidates of these kinds.
    Kinds(Vec<Kind>),
    /// These, by an id or by what people call them, whether they are candidates or not.
    Subjects(Vec<(Kind, String)>),
    /// The candidates among these issues.
    Among(Vec<Id>),
    /// What this plan says.
    Plan(Box<Plan>),
}

impl Selection {
    /// The kinds that are swept, in their order.
    pub fn kinds(&self) -> Vec<Kind> {
        match self {
            Selection::Kinds(kinds) => kinds.clone(),
            Selection::Subjects(subjects) => kinds_of(subjects.iter().map(|(kind, _)| kind)),
            Selection::Among(_) => vec![Kind::Issue],
            Selection::Plan(plan) => kinds_of(plan.order.iter().map(|(kind, _)| kind)),
        }
    }

    pub fn plan(&self) -> Option<&Plan> {
        match self {
            Selection::Plan(plan) => Some(plan),
            Selection::Kinds(_) | Selection::Subjects(_) | Selection::Among(_) => None,
        }
    }

    pub fn among(&self) -> Option<&[Id]> {
        match self {
            Selection::Among(issues) => Some(issues),
            Selection::Kinds(_) | Selection::Subjects(_) | Selection::Plan(_) => None,
        }
    }
}

impl Settings {
    pub fn resolve(flags: SweepFlags, environment: &Environment) -> Result<Settings> {
        let variables = environment.variables()?;
        let scope = flags.scope;
        let (policy, timeouts) = resolve_policy(scope.policy, &variables)?;
        let subjects = flags.subjects.named();
        if scope.only.is_some() && !subjects.is_empty() {
            return Err(usage(
                "--only names kinds, --session, --issue and --step name subjects: give one or the other",
            )
            .into());
        }
        let mut only = pick(scope.only, "only", &variables.only, parse::kinds)?;
        if let Some(kinds) = &mut only {
            kinds.sort();
            kinds.dedup();
        }
        let selection = match (flags.apply, subjects.is_empty()) {
            (Some(path), _) => Selection::Plan(Box::new(plan::read(&path)?)),
            (None, true) => Selection::Kinds(only.unwrap_or_else(|| Kind::ALL.to_vec())),
            (None, false) => Selection::Subjects(subjects),
        };
        let tenant = pick(scope.tenant, "tenant", &variables.tenant, parse::words)?;
        let shard = pick(scope.shard, "shard", &variables.shard, parse::shard)?.filter(Shard::is_part);
        let narrowed = tenant.is_some() || variables.only.is_some() || shard.is_some();
        if let (Selection::Plan(_), true) = (&selection, narrowed) {
            return Err(
                usage("--apply: a plan names its subjects: unset SWEEP_TENANT, SWEEP_ONLY and SWEEP_SHARD").into()
            );
        }
        let limits = scope.limits;
        macro_rules! limit {
            ($name:ident, $parse:path) => {
                pick(limits.$name, stringify!($name), &variables.$name, $parse)?
            };
        }
        let default = Settings::of(environment.database(&scope.database)?);
        let guard = Guard {
            share: limit!(guard_share, parse::share).unwrap_or(Guard::default().share),
            min: limit!(guard_min, parse::number).unwrap_or(Guard::default().min),
        };
        let modes = [
            (Kind::Session, limit!(sessions, parse::kind_mode)),
            (Kind::Issue, limit!(issues, parse::kind_mode)),
            (Kind::Step, limit!(steps, parse::kind_mode)),
        ];
        Ok(Settings {
            dry_run: flags.dry_run,
            selection,
            tenant,
            shard,
            modes: modes
                .into_iter()
                .filter_map(|(kind, mode)| Some((kind, mode?)))
                .filter(|(_, mode)| *mode != KindMode::On)
                .collect(),
            limit: limit!(limit, parse::positive),
            deadline: limit!(deadline, parse::positive_duration).unwrap_or(default.deadline),
            wakes_per_agent_max: limit!(wakes_per_agent_max, parse::positive).unwrap_or(default.wakes_per_agent_max),
            guard: (!limits.no_guard).then_some(guard),
            connections: pick(scope.connections, "connections", &variables.connections, parse::connections)?
                .unwrap_or(default.connections),
            output: pick(flags.output, "output", &variables.output, parse::format)?.unwrap_or_default(),
            detailed_exitcode: flags.detailed_exitcode,
            notify: environment.notify()?,
            metrics_file: metrics_file(scope.metrics_file, &variables)?,
            policy,
            timeouts,
            ..default
        })
    }

    /// The defaults, for a database.
    pub fn of(database: Url) -> Settings {
        Settings {
            database,
            dry_run: false,
            selection: Selection::Kinds(Kind::ALL.to_vec()),
            tenant: None,
            held: Vec::new(),
            shard: None,
            modes: BTreeMap::new(),
            limit: None,
            deadline: TimeDelta::minutes(10),
            wakes_per_agent_max: 10,
            guard: Some(Guard::default()),
            connections: 4,
            output: Format::default(),
            detail: Detail::default(),
            shows_progress: false,
            detailed_exitcode: false,
            metrics_file: None,
            notify: Notify::default(),
            policy: Policy::default(),
            timeouts: Timeouts::default(),
        }
    }

    pub fn mode(&self, kind: Kind) -> KindMode {
        self.modes.get(&kind).copied().unwrap_or_default()
    }
}

fn kinds_of<'a>(named: impl Iterator<Item = &'a Kind>) -> Vec<Kind> {
    named.copied().collect::<BTreeSet<_>>().into_iter().collect()
}

/// That its directory is missing is said before the sweep: afterwards it would be a warning that nobody reads.
fn metrics_file(flag: Option<PathBuf>, variables: &Variables) -> Result<Option<PathBuf>> {
    let (name, path) = match (flag, &variables.metrics_file) {
        (Some(path), _) => ("--metrics-file", path),
        (None, Some(path)) => ("SWEEP_METRICS_FILE", PathBuf::from(path)),
        (None, None) => return Ok(None),
    };
    metrics::refuse_path(&path).map_err(|why| config(format!("{name}: {why}")))?;
    Ok(Some(path))
}

fn resolve_policy(flags: PolicyFlags, variables: &Variables) -> Result<(Policy, Timeouts)> {
    let default = Policy::default();
    macro_rules! setting {
        ($name:ident, $parse:path, $default:expr) => {
            pick(flags.$name, stringify!($name), &variables.$name, $parse)?.unwrap_or($default)
        };
    }
    let policy = Policy {
        grace_after_run: None,
        orphan_grace: setting!(orphan_grace, parse::duration, default.orphan_grace),
        step_stalled_after: setting!(step_stalled_after, parse::positive_duration, default.step_stalled_after),
        session_silent_after: setting!(session_silent_after, parse::at_least_a_second, default.session_silent_after),
        run_silent_after: setting!(run_silent_after, parse::at_least_a_second, default.run_silent_after),
        session_waiting_after: setting!(session_waiting_after, parse::duration, default.session_waiting_after),
        session_no_progress_after: setting!(
            session_no_progress_after,
            parse::at_least_a_second,
            default.session_no_progress_after
        ),
        wake_stuck_after: setting!(wake_stuck_after, parse::at_least_a_minute, default.wake_stuck_after),
        abandoned_after: setting!(abandoned_after, parse::after, default.abandoned_after),
        paused_after: setting!(paused_after, parse::after, default.paused_after),
        retry_delay: setting!(retry_delay, parse::duration, default.retry_delay),
        attempts_max: setting!(attempts_max, parse::number, default.attempts_max),
        attempts_per_day_max: setting!(attempts_per_day_max, parse::number, default.attempts_per_day_max),
        escalation: setting!(escalation, parse::escalation, default.escalation),
        nudge_delay: setting!(nudge_delay, parse::at_least_a_second, default.nudge_delay),
        nudges_max: setting!(nudges_max, parse::number, default.nudges_max),
        nudge_message: setting!(nudge_message, parse::message, default.nudge_message),
        auto_relaunch: setting!(auto_relaunch, parse::switch, default.auto_relaunch),
        relaunches_max: setting!(relaunches_max, parse::number, default.relaunches_max),
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

impl Environment {
    /// What a sweep with these flags would go by.
    pub fn policy(&self, flags: PolicyFlags) -> Result<(Policy, Timeouts)> {
        resolve_policy(flags, &self.variables()?)
    }

    /// None when it is not set: then the latest sweep's tells more than the default does.
    pub fn step_stalled_after(&self) -> Result<Option<TimeDelta>> {
        let variables = self.variables()?;
        pick(None, "step_stalled_after", &variables.step_stalled_after, parse::positive_duration)
    }
}
