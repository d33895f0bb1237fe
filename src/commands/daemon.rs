//! `sweep daemon`: sweeps on a schedule.

use anyhow::Result;

use crate::conclusion::Conclusion;
use crate::daemon::{self, Resolved};
use crate::settings::file::complete;
use crate::settings::resolve::ScopeFlags;
use crate::settings::{Environment, TypedSettings, resolve};

pub fn run(scope: ScopeFlags, typed: TypedSettings, environment: &Environment) -> Result<Conclusion> {
    let resolve = |scope: &ScopeFlags, environment: &Environment| -> Result<Resolved> {
        let options = resolve::daemon(scope.clone(), environment)?;
        Ok(Resolved { options, variables: environment.values() })
    };
    let resolved = resolve(&scope, environment)?;
    let again = move || {
        let environment = complete(Environment::of_process(), &typed)?;
        environment.log_warnings();
        resolve(&scope, &environment).map_err(|error| environment.locate(error))
    };
    daemon::run(resolved, Box::new(again))
}
