//! `sweep daemon`: sweeps on a schedule.

use std::path::PathBuf;

use anyhow::Result;

use crate::conclusion::Conclusion;
use crate::daemon::{self, DaemonOptions, Resolved};
use crate::settings::Environment;
use crate::settings::flags::DaemonFlags;

pub fn run(flags: DaemonFlags, config: Option<PathBuf>, environment: &Environment) -> Result<Conclusion> {
    let resolve = |flags: &DaemonFlags, environment: &Environment| -> Result<Resolved> {
        let options = DaemonOptions::resolve(flags.clone(), environment)?;
        Ok(Resolved { options, variables: environment.values() })
    };
    let resolved = resolve(&flags, environment)?;
    let again = move || {
        let environment = Environment::of_process().with_file(config.as_deref())?;
        environment.log_warnings();
        resolve(&flags, &environment).map_err(|error| environment.locate(error))
    };
    daemon::run(resolved, Box::new(again))
}
