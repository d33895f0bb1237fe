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

use std::path::PathBuf;

use anyhow::Result;
use chrono::TimeDelta;

use crate::cli::{PolicyFlags, SweepFlags};
use crate::conclusion::{config, usage};
use crate::cycle::CycleOptions;
use crate::metrics;
use crate::parse;
use crate::report::Format;
use crate::rules::{Guard, Kind, Policy};
use crate::store::Timeouts;
use crate::store::candidates::Shard;
use crate::sweep::{KindMode, Options, Selection};
use environment::malformed;
pub use environment::{Environment, Source};
use known::Variables;

/// What a sweep by hand goes by, and how its report is printed.
#[derive(Clone, Debug)]
pub struct Settings {
    pub cycle: CycleOptions,
    pub output: Format,
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
        let default = Options::of(environment.database(&scope.database)?);
        let guard = Guard {
            share: limit!(guard_share, parse::share).unwrap_or(Guard::default().share),
            min: limit!(guard_min, parse::number).unwrap_or(Guard::default().min),
        };
        let modes = [
            (Kind::Session, limit!(sessions, parse::kind_mode)),
            (Kind::Issue, limit!(issues, parse::kind_mode)),
            (Kind::Step, limit!(steps, parse::kind_mode)),
        ];
        let modes = modes.into_iter().filter_map(|(kind, mode)| Some((kind, mode?)));
        let connections = pick(scope.connections, "connections", &variables.connections, parse::connections)?;
        let notify = environment.notify()?;
        let sweep = Options {
            dry_run: flags.dry_run,
            selection,
            tenant,
            shard,
            modes: modes.filter(|(_, mode)| *mode != KindMode::On).collect(),
            limit: limit!(limit, parse::positive),
            deadline: limit!(deadline, parse::positive_duration).unwrap_or(default.deadline),
            wakes_per_agent_max: limit!(wakes_per_agent_max, parse::positive).unwrap_or(default.wakes_per_agent_max),
            guard: (!limits.no_guard).then_some(guard),
            connections: connections.unwrap_or(default.connections),
            concludes_changed: flags.detailed_exitcode,
            subscriptions: notify.subscriptions(),
            policy,
            timeouts,
            ..default
        };
        let output = pick(flags.output, "output", &variables.output, parse::format)?.unwrap_or_default();
        let metrics_file = metrics_file(scope.metrics_file, &variables)?;
        Ok(Settings { cycle: CycleOptions { sweep, notify, metrics_file }, output })
    }
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
