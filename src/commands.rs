//! The commands: each reads its flags, calls the library and prints.

mod completions;
mod config;
mod daemon;
mod demo;
mod exempt;
mod explain;
mod man;
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
    let Cli { command, config: file, sweep } = cli;
    // What is about the program alone works whatever is set.
    let is_of_an_agent = matches!(&command, Some(Command::Watch(flags)) if flags.of_agent.is_some());
    let is_set_up = !is_of_an_agent && !matches!(command, Some(Command::Completions(_) | Command::Man(_)));
    let environment = &if is_set_up { environment.with_file(file.as_deref())? } else { environment };
    // The demo is there to be watched: its reports say it all. A filter that is malformed is for `sweep config` to show.
    if is_set_up && !matches!(command, Some(Command::Demo(_) | Command::Config(_))) {
        let is_daemon = matches!(command, Some(Command::Daemon(_)));
        telemetry::start(environment, if is_daemon { Audience::Log } else { Audience::of_stderr() })?;
        environment.log_warnings();
    }
    match command {
        None => run::run(sweep, environment),
        Some(Command::Daemon(flags)) => daemon::run(flags, file, environment),
        Some(Command::Migrate(flags)) => migrate::run(flags, environment),
        Some(Command::Status(flags)) => status::run(flags, environment),
        Some(Command::Notify(command)) => notify::run(command, environment),
        Some(Command::Demo(flags)) => demo::run(flags),
        Some(Command::Explain(flags)) => explain::run(flags, environment),
        Some(Command::Watch(flags)) => watch::run(flags, environment),
        Some(Command::Exempt(command)) => exempt::run(command, environment),
        Some(Command::Quarantine(command)) => quarantine::run(command, environment),
        Some(Command::Config(flags)) => config::run(&flags, file.as_deref(), environment),
        Some(Command::Completions(flags)) => Ok(completions::run(&flags)),
        Some(Command::Man(flags)) => man::run(&flags),
    }
}

/// Prints what sweep wrote itself, or what `text::shown` let pass; a reader that has gone (`| head -1`) is no error.
fn say(text: &str) {
    let _ = anstream::stdout().write_all(text.as_bytes());
}
