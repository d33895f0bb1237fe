//! What a sweep goes by, from its flags and the environment.

use anyhow::Result;
use chrono::TimeDelta;

use super::environment::Environment;
use super::flags::{PolicyFlags, SweepFlags};
use super::plan;
use super::table::Variables;
use crate::conclusion::{config, usage};
use crate::cycle::CycleOptions;
use crate::metrics;
use crate::report::Format;
use crate::rules::Policy;
use crate::store::Timeouts;
use crate::store::candidates::Shard;
use crate::sweep::{KindMode, Options, Selection};

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
        let (policy, timeouts) = scope.policy.resolve(&variables)?;
        let mut options = Options { policy, timeouts, ..Options::of(environment.database(&scope.database)?) };

        let subjects = flags.subjects.named();
        if scope.selection.only.is_some() && !subjects.is_empty() {
            return Err(usage(
                "--only names kinds, --session, --issue and --step name subjects: give one or the other",
            )
            .into());
        }
        let selection = scope.selection.or(&variables)?;
        options.tenant = selection.tenant;
        options.shard = selection.shard.filter(Shard::is_part);
        let is_restricted = options.tenant.is_some() || selection.only.is_some() || options.shard.is_some();
        if flags.apply.is_some() && is_restricted {
            return Err(
                usage("--apply: a plan names its subjects: unset SWEEP_TENANT, SWEEP_ONLY and SWEEP_SHARD").into()
            );
        }
        options.selection = match (flags.apply, subjects.is_empty(), selection.only) {
            (Some(path), ..) => Selection::Plan(Box::new(plan::read(&path)?)),
            (None, false, _) => Selection::Subjects(subjects),
            (None, true, Some(mut kinds)) => {
                kinds.sort();
                kinds.dedup();
                Selection::Kinds(kinds)
            }
            (None, true, None) => options.selection,
        };

        scope.limits.or(&variables)?.apply(&mut options);
        options.modes.retain(|_, mode| *mode != KindMode::On);
        if scope.no_guard {
            options.guard = None;
        }

        let metrics_option = if scope.machine.metrics_file.is_some() { "--metrics-file" } else { "SWEEP_METRICS_FILE" };
        let machine = scope.machine.or(&variables)?;
        let metrics_file = machine.metrics_file.clone();
        // That its directory is missing is said before the sweep: afterwards it would be a warning that nobody reads.
        if let Some(path) = &metrics_file {
            metrics::refuse_path(path).map_err(|why| config(format!("{metrics_option}: {why}")))?;
        }
        machine.apply(&mut options);

        let notify = environment.notify()?;
        options.subscriptions = notify.subscriptions();
        options.dry_run = flags.dry_run;
        options.concludes_changed = flags.detailed_exitcode;
        let output = flags.output.or(&variables)?.output.unwrap_or_default();
        Ok(Settings { cycle: CycleOptions { notify, metrics_file, ..CycleOptions::of(options) }, output })
    }
}

impl PolicyFlags {
    fn resolve(self, variables: &Variables) -> Result<(Policy, Timeouts)> {
        let (mut policy, mut timeouts) = (Policy::default(), Timeouts::default());
        self.stranded.or(variables)?.apply(&mut policy);
        self.recovery.or(variables)?.apply(&mut policy);
        self.timeouts.or(variables)?.apply(&mut timeouts);
        Ok((policy, timeouts))
    }
}

impl Environment {
    /// What a sweep with these flags would go by.
    pub fn policy(&self, flags: PolicyFlags) -> Result<(Policy, Timeouts)> {
        flags.resolve(&self.variables()?)
    }

    /// None when it is not set: then the latest sweep's says more than the default does.
    pub fn step_stalled_after(&self) -> Result<Option<TimeDelta>> {
        self.variables()?.step_stalled_after()
    }
}
