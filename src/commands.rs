//! The commands: each reads its flags, calls the library and prints.

mod ask;
mod attention;
pub mod completions;
mod config;
mod daemon;
mod demo;
mod each_database;
mod exempt;
mod explain;
mod host;
mod man;
mod mcp;
mod migrate;
mod notify;
mod open_database;
mod page;
mod quarantine;
mod run;
mod status;
mod terminal;
mod uninstall;
mod watch;

use anyhow::Result;

use crate::cli::{Cli, Command};
use crate::conclusion::Conclusion;
use crate::settings::Environment;
use crate::settings::flags::{CommonFlags, ConfigFlag};
use crate::telemetry::{self, Audience, Loudness};

/// Runs one command line to its exit code.
pub fn run(cli: Cli, environment: Environment) -> Result<Conclusion> {
    let Cli { command, common: CommonFlags { config: ConfigFlag { config: file }, quiet, verbose }, sweep } = cli;
    // What sweeps log of copies that are gone in a moment is of no use to anybody who did not ask for it.
    let is_on_copies = matches!(command, Some(Command::Host(_))) && verbose == 0;
    let loudness = Loudness::of(quiet || is_on_copies, verbose);
    // What is about the program alone works whatever is set.
    let is_of_an_agent = matches!(&command, Some(Command::Watch(flags)) if flags.of_agent.is_some());
    let is_set_up = !is_of_an_agent && !matches!(command, Some(Command::Completions(_) | Command::Man(_)));
    let environment = &if is_set_up { environment.with_file(file.as_deref())? } else { environment };
    // The demo is there to be watched: its reports say it all. A filter that is malformed is for `sweep config` to
    // show.
    if is_set_up && !matches!(command, Some(Command::Demo(_) | Command::Config(_))) {
        let audience = match command {
            Some(Command::Daemon(_) | Command::Page(_)) => Audience::Log,
            Some(Command::Mcp(_)) => Audience::Client,
            None if telemetry::are_one_stream(environment) => Audience::Person,
            _ => Audience::of_stderr(),
        };
        telemetry::start(environment, audience, loudness)?;
        environment.log_warnings();
    }
    let ran = match command {
        None => run::run(sweep, loudness, environment),
        Some(Command::Daemon(flags)) => daemon::run(flags, file, environment),
        Some(Command::Migrate(flags)) => migrate::run(flags, quiet, environment),
        Some(Command::Status(flags)) => status::run(flags, environment),
        Some(Command::Attention(flags)) => attention::run(flags, environment),
        Some(Command::Page(flags)) => page::run(flags, environment),
        Some(Command::Notify(command)) => notify::run(command, environment),
        Some(Command::Demo(flags)) => demo::run(flags),
        Some(Command::Explain(flags)) => explain::run(flags, environment),
        Some(Command::Watch(flags)) => watch::run(flags, environment),
        Some(Command::Mcp(flags)) => mcp::run(flags, environment),
        Some(Command::Host(command)) => host::run(&command, environment),
        Some(Command::Ask(command)) => ask::run(command, quiet, environment),
        Some(Command::Exempt(command)) => exempt::run(command, quiet, environment),
        Some(Command::Quarantine(command)) => quarantine::run(command, quiet, environment),
        Some(Command::Config(flags)) => config::run(&flags, file.as_deref(), environment),
        Some(Command::Completions(flags)) => completions::run(&flags),
        Some(Command::Man(flags)) => man::run(&flags),
    };
    ran.map_err(|error| environment.locate(error))
}
