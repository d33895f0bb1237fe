//! The commands: each reads its flags, calls the library and prints.

pub mod completions;
mod config;
mod demo;
mod doctor;
mod host;
mod init;
mod look;
mod man;
mod open_database;
mod run;
mod runs;
mod services;
mod subjects;
mod terminal;
mod watch;

use anyhow::Result;

use crate::cli::{Cli, Command, NotifyCommand};
use crate::conclusion::Conclusion;
use crate::report::Format;
use crate::settings::{CommonFlags, Environment, complete};
use crate::telemetry::{self, Audience, Loudness};
use terminal::Layout;

/// Runs one command line to its exit code.
pub fn run(cli: Cli, environment: Environment) -> Result<Conclusion> {
    let Cli { command, common: CommonFlags { config: _, quiet, verbose }, sweep, format, typed } = cli;
    // What sweeps log of copies that are gone in a moment is of no use to anybody who did not ask for it.
    let is_on_copies = matches!(command, Some(Command::Host(_))) && verbose == 0;
    let loudness = Loudness::of(quiet || is_on_copies, verbose);
    let layout = match format {
        Format::Table if quiet => Layout::Quiet,
        Format::Table => Layout::Table,
        Format::Json | Format::Ndjson => Layout::Json,
    };
    let environment = match command {
        // What is about the program alone works whatever is set.
        Some(Command::Completions(flags)) => return completions::run(&flags),
        Some(Command::Man(flags)) => return man::run(&flags),
        Some(Command::Demo(flags)) => return demo::run(&flags, &typed.databases),
        Some(Command::Watch(flags)) if flags.of_agent.is_some() => return watch::run(flags, &environment),
        _ => &complete(environment, &typed)?,
    };
    // A filter that is malformed is for `sweep config` to show.
    if !matches!(command, Some(Command::Config)) {
        let audience = match command {
            Some(Command::Daemon(_) | Command::Page) => Audience::Log,
            Some(Command::Mcp(_)) => Audience::Client,
            None if telemetry::are_one_stream(environment) => Audience::Person,
            _ => Audience::of_stderr(),
        };
        telemetry::start(environment, audience, loudness)?;
        environment.log_warnings();
    }
    let ran = match command {
        None => run::run(sweep, format, loudness, environment),
        Some(Command::Daemon(scope)) => services::daemon(scope, typed, environment),
        Some(Command::Init(flags)) => init::run(&flags, loudness, environment),
        Some(Command::Migrate(flags)) => host::migrate(flags, layout, environment),
        Some(Command::Status(flags)) => look::status(flags, layout, environment),
        Some(Command::Attention(flags)) => look::attention(flags, layout, environment),
        Some(Command::Doctor) => doctor::run(layout, environment),
        Some(Command::Page) => services::page(environment),
        Some(Command::Notify(NotifyCommand::Test)) => config::test_notifications(layout, environment),
        Some(Command::Explain(subject)) => look::explain(subject, layout, environment),
        Some(Command::Watch(flags)) => watch::run(flags, environment),
        Some(Command::Mcp(flags)) => services::mcp(flags, environment),
        Some(Command::Host(command)) => host::run(&command, layout, environment),
        Some(Command::Wake(flags)) => subjects::wake(flags, layout, environment),
        Some(Command::Session(command)) => subjects::session(command, layout, environment),
        Some(Command::Step(command)) => subjects::step(command, layout, environment),
        Some(Command::Run(command)) => runs::run(command, layout, environment),
        Some(Command::Exempt(command)) => subjects::exempt(command, layout, environment),
        Some(Command::Quarantine(command)) => subjects::quarantine(command, layout, environment),
        Some(Command::Config) => config::run(layout, typed.file.as_deref(), environment),
        Some(Command::Completions(_) | Command::Man(_) | Command::Demo(_)) => Ok(Conclusion::Done),
    };
    telemetry::finish();
    ran.map_err(|error| environment.locate(error))
}
