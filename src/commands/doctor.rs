//! `sweep doctor`: is this installation well? Nothing is written.

use anyhow::Result;
use serde_json::json;

use super::config;
use super::look::each_database;
use super::terminal::Layout;
use crate::conclusion::Conclusion;
use crate::doctor::{self, CheckName, CheckUp, Diagnosis, DoctorOptions};
use crate::report::diagnosis;
use crate::settings::database::{listen_url, pooler_at};
use crate::settings::{Environment, ScopeFlags, find_databases, resolve};
use crate::store::connect::databases::Found;
use crate::text::shown_in;

pub fn run(layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let settings = check_settings(environment);
    // One setting that cannot be used keeps no other one from being checked.
    let daemon = resolve::daemon(ScopeFlags::default(), environment).ok();
    let receivers = doctor::check_receivers(&resolve::usable_receivers(environment));
    let in_common: Vec<CheckUp> = [settings].into_iter().chain(receivers).collect();
    let Ok(databases) = find_databases(environment) else {
        let diagnosis = Diagnosis::of(None, in_common);
        layout.print(|| diagnosis::whole(&diagnosis), || shown_in(json!(diagnosis)));
        return Ok(diagnosis.conclusion());
    };
    let options = DoctorOptions {
        timeouts: daemon.as_ref().map(|daemon| daemon.cycle.sweep.timeouts).unwrap_or_default(),
        listen: daemon.as_ref().map(|daemon| daemon.listen).unwrap_or_default(),
        listen_url: listen_url(environment).unwrap_or_default(),
        in_common,
    };
    let read = |found: &Found| Ok(doctor::examine(found, pooler_at(&found.url, environment).as_deref(), &options));
    each_database(databases, layout, read, diagnosis::whole, diagnosis::of_all, Diagnosis::conclusion)
}

fn check_settings(environment: &Environment) -> CheckUp {
    const NAME: CheckName = CheckName::Settings;
    match (config::check(environment), environment.warnings()) {
        (Err(error), _) => {
            let advice = "`sweep config` shows each, and what is wrong with it";
            CheckUp::problem(NAME, Conclusion::Config, format!("{error:#}"), advice)
        }
        (Ok(()), []) => CheckUp::ok(NAME, "each can be used"),
        (Ok(()), warnings) => CheckUp::warning(NAME, warnings.join("; "), "see docs/settings.md"),
    }
}
