//! `sweep daemon`: sweeps on a schedule.

use std::path::PathBuf;

use anyhow::Result;

use crate::cli::DaemonFlags;
use crate::daemon::{self, Resolved};
use crate::exit::Exit;
use crate::settings::{DaemonSettings, Environment};

pub fn run(flags: DaemonFlags, config: Option<PathBuf>, environment: &Environment) -> Result<Exit> {
    let settings = DaemonSettings::resolve(flags.clone(), environment)?;
    let again = move || {
        let environment = Environment::of_process().with_file(config.as_deref())?;
        environment.log_warnings();
        let settings =
            DaemonSettings::resolve(flags.clone(), &environment).map_err(|error| environment.locate(error))?;
        Ok(Resolved { settings, environment })
    };
    daemon::run(Resolved { settings, environment: environment.clone() }, Box::new(again))
}
