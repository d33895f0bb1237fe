//! Reading a command line: options of sweep's own may stand before a command's name as well.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, Error, FromArgMatches};

use super::command_line::{Cli, Command, NotifyCommand};
use super::help;
use super::host::HostCommand;
use super::subjects::{ExemptCommand, Layout, QuarantineCommand};
use crate::report::Format;

impl Cli {
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, Error> {
        let mut command = help::command();
        let matches = command.try_get_matches_from_mut(arguments)?;
        let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        if let Some((name, _)) = matches.subcommand() {
            refuse_options_of_a_sweep(&command, &matches, name)?;
            cli.hand_down(name)?;
        }
        Ok(cli)
    }

    /// What stands before the command, unless it stands behind it as well.
    fn hand_down(&mut self, name: &str) -> Result<(), Error> {
        let Some(command) = &mut self.command else { return Ok(()) };
        let urls = std::mem::take(&mut self.sweep.scope.database.database);
        if !urls.is_empty() {
            let databases = command.databases().ok_or_else(|| has_no_such_option(name, "--database"))?;
            if databases.is_empty() {
                *databases = urls;
            }
        }
        if let Some(format) = self.sweep.output.output.take() {
            let layout = command.layout().ok_or_else(|| has_no_such_option(name, "--output"))?;
            layout.get_or_insert(match format {
                Format::Table => Layout::Table,
                Format::Json => Layout::Json,
                Format::Ndjson => {
                    return Err(refuse(format!("--output ndjson: `sweep {name}` prints table or json")));
                }
            });
        }
        Ok(())
    }
}

impl Command {
    fn databases(&mut self) -> Option<&mut Vec<String>> {
        Some(match self {
            Command::Daemon(flags) => &mut flags.scope.database.database,
            Command::Status(flags) => &mut flags.database.database,
            Command::Attention(flags) => &mut flags.database.database,
            Command::Page(flags) => &mut flags.database.database,
            Command::Explain(flags) => &mut flags.database.database,
            Command::Ask(command) => &mut command.flags().database.database,
            Command::Exempt(ExemptCommand::Add(flags)) => &mut flags.database.database,
            Command::Exempt(ExemptCommand::List(flags)) | Command::Quarantine(QuarantineCommand::List(flags)) => {
                &mut flags.database.database
            }
            Command::Exempt(ExemptCommand::Remove(flags)) => &mut flags.database.database,
            Command::Quarantine(QuarantineCommand::Release(flags)) => &mut flags.database.database,
            Command::Migrate(flags) => &mut flags.database.database,
            Command::Watch(flags) => &mut flags.database.database,
            Command::Mcp(flags) => &mut flags.database.database,
            Command::Demo(flags) => &mut flags.database,
            Command::Host(HostCommand::New(flags)) => &mut flags.database.database,
            Command::Host(HostCommand::Verify(flags)) => &mut flags.database.database,
            Command::Host(HostCommand::List(_) | HostCommand::Show(_))
            | Command::Notify(_)
            | Command::Config(_)
            | Command::Completions(_)
            | Command::Man(_) => return None,
        })
    }

    fn layout(&mut self) -> Option<&mut Option<Layout>> {
        Some(match self {
            Command::Status(flags) => &mut flags.layout.output,
            Command::Attention(flags) => &mut flags.layout.output,
            Command::Explain(flags) => &mut flags.layout.output,
            Command::Exempt(ExemptCommand::List(flags)) | Command::Quarantine(QuarantineCommand::List(flags)) => {
                &mut flags.layout.output
            }
            Command::Exempt(ExemptCommand::Add(flags)) => &mut flags.layout.output,
            Command::Exempt(ExemptCommand::Remove(flags)) => &mut flags.layout.output,
            Command::Quarantine(QuarantineCommand::Release(flags)) => &mut flags.layout.output,
            Command::Migrate(flags) => &mut flags.layout.output,
            Command::Notify(NotifyCommand::Test(flags)) => &mut flags.layout.output,
            Command::Host(HostCommand::New(flags)) => &mut flags.layout.output,
            Command::Ask(command) => &mut command.flags().layout.output,
            Command::Config(flags) => &mut flags.layout.output,
            Command::Host(HostCommand::List(flags)) => &mut flags.layout.output,
            Command::Host(HostCommand::Show(flags)) => &mut flags.layout.output,
            Command::Host(HostCommand::Verify(flags)) => &mut flags.layout.output,
            Command::Daemon(_)
            | Command::Page(_)
            | Command::Watch(_)
            | Command::Mcp(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::Demo(_) => return None,
        })
    }
}

/// `sweep --limit 3 status`: what is said of a sweep has no meaning for another command.
fn refuse_options_of_a_sweep(command: &clap::Command, matches: &ArgMatches, name: &str) -> Result<(), Error> {
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let handed_down = ["database", "output"];
    let of_sweep = command.get_arguments().filter(|argument| !argument.is_global_set());
    let given = of_sweep.map(|argument| argument.get_id().as_str()).filter(|id| is_given(id));
    let Some(option) = given.into_iter().find(|id| !handed_down.contains(id)) else { return Ok(()) };
    let below = command.find_subcommand(name);
    let is_below = below.is_some_and(|below| below.get_opts().any(|argument| argument.get_id() == option));
    let option = format!("--{}", option.replace('_', "-"));
    match is_below {
        true => Err(refuse(format!("{option} belongs behind the command: `sweep {name} {option} …`"))),
        false => Err(has_no_such_option(name, &option)),
    }
}

fn has_no_such_option(name: &str, option: &str) -> Error {
    refuse(format!("`sweep {name}` has no option {option}"))
}

fn refuse(message: String) -> Error {
    Cli::command().error(ErrorKind::ArgumentConflict, message)
}
