//! `sweep doctor`: is this installation well? Nothing is written.

use anyhow::Result;

use super::config;
use super::look::each_database;
use super::terminal::Layout;
use crate::conclusion::Conclusion;
use crate::daemon::DaemonOptions;
use crate::doctor::{self, CheckName, CheckUp, Diagnosis, DoctorOptions};
use crate::report::diagnosis;
use crate::settings::database::{listen_url, pooler_at};
use crate::settings::{Environment, ScopeFlags, find_databases, resolve};
use crate::store::connect::databases::Found;

pub fn run(layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let databases = find_databases(environment)?;
    let resolved = resolve::daemon(ScopeFlags::default(), environment);
    let daemon = resolved.as_ref().ok();
    // One setting that cannot be used keeps no other one from being checked.
    let receivers = resolve::notify(environment).map(|notify| doctor::check_receivers(&notify)).unwrap_or_default();
    let options = DoctorOptions {
        timeouts: daemon.map(|daemon| daemon.cycle.sweep.timeouts).unwrap_or_default(),
        listen: daemon.map(|daemon| daemon.listen).unwrap_or_default(),
        listen_url: listen_url(environment).unwrap_or_default(),
        in_common: [check_settings(environment, &resolved)].into_iter().chain(receivers).collect(),
    };
    let read = |found: &Found| Ok(doctor::examine(found, pooler_at(&found.url, environment).as_deref(), &options));
    each_database(databases, layout, read, diagnosis::whole, diagnosis::of_all, Diagnosis::conclusion)
}

fn check_settings(environment: &Environment, resolved: &Result<DaemonOptions>) -> CheckUp {
    const NAME: CheckName = CheckName::Settings;
    let checked = resolved.as_ref().map(|_| ()).map_err(|error| format!("{error:#}"));
    match (
        checked.and_then(|()| config::check(environment).map_err(|error| format!("{error:#}"))),
        environment.warnings(),
    ) {
        (Err(why), _) => {
            CheckUp::problem(NAME, Conclusion::Config, why, "`sweep config` shows each, and what is wrong with it")
        }
        (Ok(()), []) => CheckUp::ok(NAME, "each can be used"),
        (Ok(()), warnings) => CheckUp::warning(NAME, warnings.join("; "), "see docs/settings.md"),
    }
}
