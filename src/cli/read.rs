//! Reading a command line, and what is wrong with one, in one sentence: the option, its value, what was expected, and
//! where there is more. Options that several commands have may stand before a command's name as well.

use std::error::Error as _;
use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Command, Error, FromArgMatches};

use super::command_line::{Cli, SubjectName};
use super::help::{SharedOption, command, examples_of, page_of};
use crate::conclusion::{Failure, usage};
use crate::parse::KIND;
use crate::report::Format;
use crate::rules::Kind;
use crate::rules::display::enumerated;
use crate::settings::file::instead_of;
use crate::settings::{Assignment, TypedSettings, table};

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

/// Options that are looked for, and what is there instead.
const INSTEAD: [(&str, &str); 5] = [
    ("--json", "--output json"),
    ("--ndjson", "--output ndjson"),
    ("--force", "--yes"),
    ("--plan", "--dry-run"),
    ("--check", "--dry-run"),
];

/// Commands that are looked for, and what is there instead.
const COMMANDS: [(&str, &str); 12] = [
    ("nudge", "use `sweep session nudge`"),
    ("relaunch", "use `sweep session relaunch`"),
    ("pause", "use `sweep session pause`"),
    ("resume", "use `sweep session resume`"),
    ("heartbeat", "use `sweep session heartbeat`"),
    ("skip-step", "use `sweep step skip`"),
    ("fail-step", "use `sweep step fail`"),
    ("sweep", "to sweep, run `sweep` alone"),
    ("run", "to sweep, run `sweep` alone"),
    ("plan", "a plan is what `sweep --dry-run --output json` prints"),
    ("apply", "to apply a plan, run `sweep --apply FILE`"),
    ("version", "run `sweep --version`"),
];

/// One line for people.
pub fn render_mistake(error: &Error, arguments: &[OsString]) -> String {
    let path = path(arguments);
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let name = [&["sweep"], &path[..]].concat().join(" ");
    let what = sentence(error, &name, &path).unwrap_or_else(|| clap_message(error));
    format!("{what} (see `{name} --help`)")
}

/// What is found wrong with the words of a command when they have been read.
pub fn refusal(command: &[&str], what: &str) -> Failure {
    let example = if what.contains("did you mean") { String::new() } else { example(command) };
    usage(format!("{what}{example} (see `sweep {} --help`)", command.join(" ")))
}

fn sentence(error: &Error, name: &str, path: &[&str]) -> Option<String> {
    let argument = text(error, ContextKind::InvalidArg).map(|argument| plain(&argument));
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => wrong_value(error, argument?, path),
        ErrorKind::UnknownArgument => Some(unknown_option(error, &argument?, name, path)),
        ErrorKind::InvalidSubcommand => Some(unknown_command(error, name)),
        ErrorKind::MissingSubcommand => {
            let known = texts(error, ContextKind::ValidSubcommand);
            let known: Vec<String> = known.into_iter().filter(|word| word != "help").collect();
            let known = enumerated(&known, "or");
            Some(format!("`{name}` is not complete: expected {known}{}", example(path)))
        }
        ErrorKind::MissingRequiredArgument => {
            let missing: Vec<String> = texts(error, ContextKind::InvalidArg).iter().map(|it| plain(it)).collect();
            let are = if missing.len() == 1 { "is" } else { "are" };
            Some(format!("`{name}` is not complete: {} {are} missing{}", enumerated(&missing, "and"), example(path)))
        }
        ErrorKind::ArgumentConflict => {
            let (one, others) = (argument?, texts(error, ContextKind::PriorArg));
            let others: Vec<String> = others.iter().map(|it| plain(it)).collect();
            Some(match others.as_slice() {
                [other] if *other == one => format!("{one} is given twice"),
                others => format!("{one} and {} cannot be used together", others.join(", ")),
            })
        }
        _ => None,
    }
}

fn wrong_value(error: &Error, argument: String, path: &[&str]) -> Option<String> {
    let mut value = text(error, ContextKind::InvalidValue)?;
    if let ("--set", Some((name, _))) = (argument.as_str(), value.split_once('=')) {
        // What is no setting may be a secret under a name that is misspelt.
        let may_be_a_secret = table::find(name).is_none_or(|known| known.is_secret);
        value = if may_be_a_secret { format!("{name}=…") } else { value };
    }
    let known = texts(error, ContextKind::ValidValue);
    let expected = match (error.source(), known.is_empty()) {
        (Some(why), _) => why.to_string(),
        (None, false) => format!("expected {}", enumerated(&known, "or")),
        (None, true) => String::new(),
    };
    let needs_example = !argument.starts_with('-') && !expected.contains("did you mean");
    let example = if needs_example { example(path) } else { String::new() };
    Some(match (value.is_empty(), error.kind() == ErrorKind::InvalidValue) {
        (true, true) if known.is_empty() => format!("{argument}: its value is missing"),
        (true, _) => format!("{argument} is empty: {expected}"),
        (false, _) => format!("{argument} {value}: {expected}{example}"),
    })
}

fn unknown_option(error: &Error, option: &str, name: &str, path: &[&str]) -> String {
    let setting = option.trim_start_matches('-').replace('-', "_");
    let setting = if setting == "interval" { "watch_interval" } else { &setting };
    let takes_settings = page_of(path).is_some_and(|page| page.takes.contains(&SharedOption::Settings));
    let known = INSTEAD.iter().find(|(looked_for, _)| *looked_for == option).map(|(_, known)| (*known).to_owned());
    let known = known.or_else(|| texts(error, ContextKind::SuggestedArg).first().cloned());
    let hint = match (instead_of(setting), table::find(setting), known) {
        (Some(instead), ..) => format!("; {instead}"),
        (None, Some(known), _) if takes_settings && !known.is_secret => format!("; use --set {setting}=…"),
        (.., Some(known)) => format!("; did you mean {known}?"),
        _ => String::new(),
    };
    format!("`{name}` has no option {option}{hint}")
}

/// `name`: the command above it.
fn unknown_command(error: &Error, name: &str) -> String {
    let command = text(error, ContextKind::InvalidSubcommand).unwrap_or_default();
    let known = COMMANDS.iter().find(|(looked_for, _)| name == "sweep" && *looked_for == command);
    let known = known.map(|(_, known)| (*known).to_owned());
    let names_a_database = command.contains("://") || command.contains('=') || command.ends_with(".db");
    let database = names_a_database.then(|| "a database is named by --database".to_owned());
    let similar = texts(error, ContextKind::SuggestedSubcommand);
    let similar = || similar.first().map(|similar| format!("did you mean `{name} {similar}`?"));
    let hint = known.or(database).or_else(similar).map(|hint| format!("; {hint}")).unwrap_or_default();
    format!("there is no command {command}{hint}")
}

/// How it is written, by an example.
fn example(path: &[&str]) -> String {
    let line = examples_of(path).into_iter().next();
    line.map(|(_, line)| format!("; for example: {line}")).unwrap_or_default()
}

/// The words of the command behind `sweep`.
fn path(arguments: &[OsString]) -> Vec<String> {
    let mut command = command();
    let mut path = Vec::new();
    for word in arguments.iter().skip(1).filter_map(|word| word.to_str()) {
        if let Some(below) = command.find_subcommand(word).cloned() {
            path.push(word.to_owned());
            command = below;
        }
    }
    path
}

/// `--limit <N>` is `--limit`, and `<KIND>` is KIND.
fn plain(argument: &str) -> String {
    let is_option = argument.starts_with('-');
    let argument = if is_option { argument.split([' ', '=']).next().unwrap_or(argument) } else { argument };
    argument.trim_end_matches("...").trim_matches(['<', '>', '[', ']']).to_owned()
}

fn text(error: &Error, kind: ContextKind) -> Option<String> {
    texts(error, kind).into_iter().next()
}

fn texts(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        _ => Vec::new(),
    }
}

/// clap's error and its tip, without the usage.
fn clap_message(error: &Error) -> String {
    let text = error.render().to_string();
    let parts = text.split("\n\n").take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more"));
    let message = parts.map(str::trim).collect::<Vec<_>>().join("; ");
    message.strip_prefix("error: ").unwrap_or(&message).to_owned()
}
