//! Reading a command line. Options that several commands have may stand before a command's name as well.

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Error, FromArgMatches};

use super::command_line::Cli;
use super::help::{command, page_of};
use super::mistake::refusal;
use super::subjects::SubjectName;
use crate::conclusion::Failure;
use crate::parse::KIND;
use crate::report::Format;
use crate::rules::Kind;
use crate::settings::{Assignment, TypedSettings};

impl Cli {
    pub fn read(arguments: impl IntoIterator<Item = OsString>) -> Result<Cli, Error> {
        let mut command = command();
        let matches = command.try_get_matches_from_mut(arguments)?;
        let mut cli = Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut command))?;
        let levels = levels(&matches);
        let path: Vec<&str> = levels[1..].iter().map(|(name, _)| *name).collect();
        if !path.is_empty() {
            refuse_options_of_a_sweep(&command, &matches, &path)?;
        }
        let mut typed_databases = levels.iter().filter_map(|(_, matches)| all::<String>(matches, "database"));
        let databases = typed_databases.next_back().unwrap_or_default();
        let mut formats =
            levels.iter().filter_map(|(_, matches)| matches.try_get_one::<Format>("output").ok().flatten());
        cli.format = formats.next_back().copied().unwrap_or_default();
        if cli.format == Format::Ndjson && !path.is_empty() {
            return Err(refuse(format!("--output ndjson: `sweep {}` prints table or json", path.join(" "))));
        }
        let assignments = assignments(&levels)?;
        cli.typed = TypedSettings { databases, assignments, file: cli.common.config.take() };
        Ok(cli)
    }
}

/// A sweep itself, the command, and the command below it: the name of each, and what was read of its options.
fn levels(matches: &ArgMatches) -> Vec<(&str, &ArgMatches)> {
    std::iter::successors(Some(("sweep", matches)), |(_, matches)| matches.subcommand()).collect()
}

/// All values of an option; none: it is not given, or the command has no such option.
fn all<T: Clone + Send + Sync + 'static>(matches: &ArgMatches, id: &str) -> Option<Vec<T>> {
    Some(matches.try_get_many::<T>(id).ok()??.cloned().collect())
}

/// The settings that the command line names: by `--set`, or by options of their own.
fn assignments(levels: &[(&str, &ArgMatches)]) -> Result<Vec<Assignment>, Error> {
    let mut assignments: Vec<Assignment> = Vec::new();
    for (_, matches) in levels {
        for id in matches.ids().map(|id| id.as_str()) {
            for assignment in all::<Assignment>(matches, id).unwrap_or_default() {
                if assignments.iter().any(|earlier| earlier.name == assignment.name) {
                    return Err(refuse(format!("--set {} is given twice", assignment.name)));
                }
                assignments.push(assignment);
            }
        }
    }
    Ok(assignments)
}

/// Refuses `sweep --limit 3 status`: what is said of a sweep has no meaning for another command.
fn refuse_options_of_a_sweep(command: &Command, matches: &ArgMatches, path: &[&str]) -> Result<(), Error> {
    let name = path.join(" ");
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let takes = page_of(path).map(|page| page.takes.as_slice()).unwrap_or_default();
    let is_taken = |id: &str| takes.iter().any(|shared| shared.id() == id);
    let of_sweep = command.get_arguments().filter(|argument| !argument.is_global_set());
    let mut given = of_sweep.map(|argument| argument.get_id().as_str()).filter(|id| is_given(id));
    let Some(option) = given.find(|id| !is_taken(id)) else { return Ok(()) };
    let below = path.iter().try_fold(command, |command, name| command.find_subcommand(name));
    let is_below = below.is_some_and(|below| below.get_opts().any(|argument| argument.get_id() == option));
    let option = format!("--{}", option.replace('_', "-"));
    match is_below {
        true => Err(refuse(format!("{option} belongs behind the command: `sweep {name} {option} …`"))),
        false => Err(refuse(format!("`sweep {name}` has no option {option}"))),
    }
}

fn refuse(message: String) -> Error {
    command().error(ErrorKind::ArgumentConflict, message)
}

/// Reads which subject the command of these words is about. A kind without a name, and a word in its place that is no
/// kind, are refused.
pub fn read_subject(subject: SubjectName, command: &[&str]) -> Result<(Option<Kind>, String), Failure> {
    let missing = |what: &str| Err(refusal(command, &format!("`sweep {}` is not complete: {what}", command.join(" "))));
    match (subject.kind, subject.name) {
        (Some(word), Some(name)) => match KIND.parse(&word) {
            Ok(kind) => Ok((Some(kind), name)),
            Err(why) => Err(refusal(command, &format!("KIND {word}: {why}"))),
        },
        (Some(word), None) if KIND.parse(&word).is_ok() => missing("ID is missing"),
        (Some(name), None) => Ok((None, name)),
        (None, _) => missing("ID is missing"),
    }
}
