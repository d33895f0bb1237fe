//! The commands: each reads its flags, calls the library and prints.

mod daemon;
mod demo;
mod exempt;
mod explain;
mod migrate;
mod notify;
mod opened;
mod quarantine;
mod run;
mod status;
mod watch;

use std::io::Write;

use anyhow::Result;

use crate::cli::{Cli, Command};
use crate::exit::Exit;
use crate::settings::Environment;
use crate::telemetry::{self, Audience};

/// Runs one command line to its exit code.
pub fn run(cli: Cli, environment: Environment) -> Result<Exit> {
    let environment = &environment.with_file(cli.config.as_deref())?;
    // The demo is there to be watched: its reports say it all.
    if !matches!(cli.command, Some(Command::Demo(_))) {
        let unattended = matches!(cli.command, Some(Command::Daemon(_)));
        telemetry::start(environment, if unattended { Audience::Log } else { Audience::of_stderr() })?;
    }
    match cli.command {
        None => run::run(cli.sweep, environment),
        Some(Command::Daemon(flags)) => daemon::run(flags, cli.config, environment),
        Some(Command::Migrate(flags)) => migrate::run(flags, environment),
        Some(Command::Status(flags)) => status::run(flags, environment),
        Some(Command::Notify(command)) => notify::run(command, environment),
        Some(Command::Demo(flags)) => demo::run(flags),
        Some(Command::Explain(flags)) => explain::run(flags, environment),
        Some(Command::Watch(flags)) => watch::run(flags, environment),
        Some(Command::Exempt(command)) => exempt::run(command, environment),
        Some(Command::Quarantine(command)) => quarantine::run(command, environment),
    }
}

/// Prints what sweep wrote itself, or what `text::shown` let pass; a reader that has gone (`| head -1`) is no error.
fn say(text: &str) {
    let _ = anstream::stdout().write_all(text.as_bytes());
}
