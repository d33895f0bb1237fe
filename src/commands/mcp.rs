//! `sweep mcp`: the tools of an agent.

use std::io::{IsTerminal, stdin};

use anyhow::Result;

use super::terminal::prompt;
use crate::cli::McpFlags;
use crate::conclusion::Conclusion;
use crate::mcp::{self, McpOptions};
use crate::settings::database::find_database;
use crate::settings::resolve::SweepFlags;
use crate::settings::{Environment, Settings, table};

pub fn run(flags: McpFlags, environment: &Environment) -> Result<Conclusion> {
    let McpFlags { allow_changes, asker } = flags;
    // One alone: several are refused, by their names.
    let url = find_database(environment)?;
    let Settings { cycle, .. } = Settings::resolve(SweepFlags::default(), environment)?;
    let options = McpOptions {
        sweep: cycle.at(&url).sweep,
        step_stalled_after: table::step_stalled_after(environment)?,
        allows_changes: allow_changes,
        asker: if allow_changes { environment.person(asker)? } else { asker.unwrap_or_default() },
    };
    if stdin().is_terminal() {
        prompt(
            "It waits for a client that speaks the Model Context Protocol on stdin: see docs/mcp.md. Ctrl-D ends it.\n",
        );
    }
    mcp::run(options)
}
