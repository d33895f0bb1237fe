//! `sweep completions`: what a shell needs to complete sweep's arguments, and the answer when it asks.
//!
//! The script asks sweep itself at each TAB, by a variable in the environment. Such a process answers and does nothing
//! else. Names in the database are read only, within a second, and without a word when that fails.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use chrono::TimeDelta;
use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use diesel::QueryResult;

use super::terminal::say;
use crate::cli::{self, CompletionsFlags};
use crate::conclusion::Conclusion;
use crate::rules::Kind;
use crate::rules::request::Request;
use crate::settings::table::all;
use crate::settings::{Environment, TypedSettings, complete, find_database};
use crate::store::work::exemptions::Exempts;
use crate::store::work::find;
use crate::store::{Access, Label, Purpose, Timeouts};
use crate::text::redact;

/// The variable by which a shell asks; no setting.
const VARIABLE: &str = "SWEEP_COMPLETE";

pub fn run(flags: &CompletionsFlags) -> Result<Conclusion> {
    let (shells, mut script) = (Shells::builtins(), Vec::new());
    let registered = shells.completer(&flags.shell.to_string()).context("a shell that is known")?;
    registered.write_registration(VARIABLE, "sweep", "sweep", "sweep", &mut script)?;
    say(&String::from_utf8_lossy(&script));
    Ok(Conclusion::Done)
}

/// Answers a shell, if one asks. What it cannot answer it leaves unsaid.
pub fn answer() -> bool {
    let arguments: Vec<_> = std::env::args_os().collect();
    CompleteEnv::with_factory(|| completed(cli::command())).var(VARIABLE).try_complete(arguments, None).unwrap_or(true)
}

/// The settings that begin so, or the values of one that has few.
fn settings_beginning(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let settable = all().filter(|known| !known.is_secret);
    let words = settable.flat_map(|known| match current.starts_with(&format!("{}=", known.name)) {
        true => (known.choices)().iter().map(|choice| format!("{}={choice}", known.name)).collect(),
        false => vec![format!("{}=", known.name)],
    });
    words.filter(|word| word.starts_with(&*current)).map(CompletionCandidate::new).collect()
}

/// A command whose values are completed from the database where they are names in it.
fn completed(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.get_id().as_str() {
        "set" => argument.add(ArgValueCompleter::new(settings_beginning)),
        id => match id.parse::<NamingArgument>() {
            Ok(naming) => argument.add(ArgValueCompleter::new(move |current: &OsStr| naming.names_beginning(current))),
            Err(_) => argument,
        },
    });
    command.mut_subcommands(completed)
}

/// Nobody waits longer at a TAB.
const PATIENCE: Duration = Duration::from_secs(1);

/// The arguments that name something in the database.
#[derive(Clone, Copy, Debug, PartialEq, strum::EnumString)]
#[strum(serialize_all = "snake_case")]
enum NamingArgument {
    Session,
    Issue,
    Step,
    IssueOrStep,
    /// A subject of the kind that stands before it: `explain issue`, `exempt add agent`.
    Name,
    Plan,
    Tenant,
}

impl NamingArgument {
    fn names_beginning(self, current: &OsStr) -> Vec<CompletionCandidate> {
        let (found, read) = channel();
        let current = current.to_string_lossy().into_owned();
        thread::spawn(move || found.send(self.read(&current, &TypedLine::of_process()).unwrap_or_default()));
        read.recv_timeout(PATIENCE).unwrap_or_default().iter().filter_map(candidate).collect()
    }

    fn read(self, current: &str, line: &TypedLine) -> Result<Vec<Label>> {
        let typed = TypedSettings {
            databases: Vec::from_iter(line.after("--database").or_else(|| line.after("-d"))),
            assignments: Vec::new(),
            file: line.after("--config").map(PathBuf::from),
        };
        let environment = complete(Environment::of_process(), &typed)?;
        let mut store = find_database(&environment)?.open_to(Purpose::Look)?;
        let kinds = store.kinds.clone();
        // The kind that stands on the line: of subject, or what else can be exempt.
        let exempts = Exempts::ALL.iter().copied().find(|of| line.0.iter().any(|word| word == of.name()));
        let is_named = |kind: Kind| match self {
            NamingArgument::Session => kind == Kind::Session,
            NamingArgument::Issue => kind == Kind::Issue,
            NamingArgument::Step => kind == Kind::Step,
            NamingArgument::IssueOrStep => Request::Wake.kinds().contains(&kind),
            NamingArgument::Name => exempts.and_then(Exempts::kind) == Some(kind),
            NamingArgument::Plan | NamingArgument::Tenant => false,
        };
        let timeouts = Timeouts { statement: TimeDelta::from_std(PATIENCE)?, ..Timeouts::default() };
        Ok(store.db.in_transaction(Access::ReadOnly, &timeouts, |db| match (self, exempts) {
            (NamingArgument::Plan, _) => find::plans_beginning(db, current),
            (NamingArgument::Name, Some(Exempts::Agent)) => find::agents_beginning(db, current),
            (NamingArgument::Name, Some(Exempts::Tenant)) | (NamingArgument::Tenant, _) => {
                find::tenants_beginning(db, &kinds, current)
            }
            _ => {
                let named = kinds.iter().filter(|kind| is_named(**kind));
                let found = named.map(|kind| find::subjects_beginning(db, *kind, current));
                Ok(found.collect::<QueryResult<Vec<_>>>()?.concat())
            }
        })?)
    }
}

/// What is inserted is one plain word: shells differ in how they would quote another. The id is always right.
fn candidate(label: &Label) -> Option<CompletionCandidate> {
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c));
    let (name, id) = (label.name(), label.redact_id());
    if is_plain(&name) {
        return Some(CompletionCandidate::new(name));
    }
    is_plain(&id).then(|| CompletionCandidate::new(id).help(Some(redact(&name).into())))
}

/// What stands on the line that is completed.
struct TypedLine(Vec<String>);

impl TypedLine {
    fn of_process() -> TypedLine {
        let words = std::env::args_os().skip_while(|word| word != "--").skip(1);
        TypedLine(words.map(OsString::into_string).filter_map(Result::ok).collect())
    }

    /// The value of an option.
    fn after(&self, option: &str) -> Option<String> {
        let joined = self.0.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='));
        let apart = || self.0.iter().skip_while(|word| *word != option).nth(1).map(String::as_str);
        joined.or_else(apart).map(str::to_owned)
    }
}
