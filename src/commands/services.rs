//! The commands that go on until they are ended: `sweep daemon` sweeps on a schedule, `sweep page` serves the page
//! without one and only reads, and `sweep mcp` has the tools of an agent.

use std::io::{IsTerminal, stdin};

use anyhow::Result;

use super::terminal::prompt;
use crate::cli::McpFlags;
use crate::conclusion::Conclusion;
use crate::daemon::Resolved;
use crate::mcp::McpOptions;
use crate::page::Viewed;
use crate::settings::{
    Environment, PageSettings, ScopeFlags, Settings, SweepFlags, TypedSettings, complete, find_database, resolve, table,
};

pub fn daemon(scope: ScopeFlags, typed: TypedSettings, environment: &Environment) -> Result<Conclusion> {
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
    crate::daemon::run(resolved, Box::new(again))
}

pub fn page(environment: &Environment) -> Result<Conclusion> {
    let PageSettings { databases, viewed, http, options } = PageSettings::resolve(environment)?;
    // Files may have come, and others gone.
    crate::page::run(options, http, Box::new(move || Viewed { databases: databases.find(), ..viewed.clone() }))
}

pub fn mcp(flags: McpFlags, environment: &Environment) -> Result<Conclusion> {
    let McpFlags { allow_changes, session, asker } = flags;
    let writes = allow_changes || session.is_some();
    // One alone: several are refused, by their names.
    let url = find_database(environment)?;
    let Settings { cycle, .. } = Settings::resolve(SweepFlags::default(), environment)?;
    let options = McpOptions {
        sweep: cycle.sweep_of(&url),
        step_stalled_after: table::step_stalled_after(environment)?,
        allows_changes: allow_changes,
        session,
        asker: if writes { environment.person(asker)? } else { asker.unwrap_or_default() },
    };
    if stdin().is_terminal() {
        prompt(
            "It waits for a client that speaks the Model Context Protocol on stdin: see docs/mcp.md. Ctrl-D ends it.\n",
        );
    }
    crate::mcp::run(options)
}
