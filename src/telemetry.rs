//! Logs: on stderr, as text or JSON. At a terminal the report says it all, so only what went wrong is logged there.

use std::io::{IsTerminal, stderr};

use anyhow::Result;
use tracing_subscriber::EnvFilter;

use crate::exit::config;
use crate::settings::Environment;

/// Can logs be as SWEEP_LOG and SWEEP_LOG_FORMAT say?
pub fn check(environment: &Environment) -> Result<()> {
    let (filter, _) = environment.log()?;
    parse(filter.as_deref().unwrap_or("info")).map(drop)
}

fn parse(filter: &str) -> Result<EnvFilter> {
    let refuse =
        |error| config(format!("SWEEP_LOG: “{filter}”: expected a filter such as warn or sweep=debug ({error})"));
    Ok(EnvFilter::try_new(filter).map_err(refuse)?)
}

/// Starts logging as SWEEP_LOG (a filter such as `info` or `sweep=debug`) and SWEEP_LOG_FORMAT say.
pub fn start(environment: &Environment) -> Result<()> {
    let (filter, json) = environment.log()?;
    let default = if stderr().is_terminal() { "error" } else { "info" };
    let logs = tracing_subscriber::fmt()
        .with_env_filter(parse(filter.as_deref().unwrap_or(default))?)
        .with_writer(stderr)
        // When nobody reads the logs any more, they are lost; a message about that would have nowhere to go either.
        .log_internal_errors(false)
        .with_ansi(stderr().is_terminal());
    let _ = if json { logs.json().flatten_event(true).try_init() } else { logs.with_target(false).try_init() };
    Ok(())
}
