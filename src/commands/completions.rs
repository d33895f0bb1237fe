//! `sweep completions`: what a shell needs to complete sweep's arguments, and the answer when it asks.
//!
//! The script asks sweep itself at each TAB, by a variable in the environment. Such a process answers and does nothing
//! else.

mod names;

use std::ffi::OsStr;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;

use super::terminal::say;
use crate::cli::{self, CompletionsFlags};
use crate::conclusion::Conclusion;
use crate::settings::table::all;
use names::Names;

/// The variable by which a shell asks; no setting.
const VARIABLE: &str = "SWEEP_COMPLETE";

pub fn run(flags: &CompletionsFlags) -> Result<Conclusion> {
    let shell = flags.shell.to_string();
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let registered = shells.completer(&shell).context("a shell that is known")?;
    registered.write_registration(VARIABLE, "sweep", "sweep", "sweep", &mut script)?;
    say(&String::from_utf8_lossy(&script));
    Ok(Conclusion::Done)
}

/// Answers a shell, if one asks. What it cannot answer it leaves unsaid.
pub fn answer() -> bool {
    let arguments: Vec<_> = std::env::args_os().collect();
    CompleteEnv::with_factory(command).var(VARIABLE).try_complete(arguments, None).unwrap_or(true)
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

/// The command line, whose values are completed from the database where they are names in it.
fn command() -> Command {
    completed(cli::command())
}

fn completed(command: Command) -> Command {
    let command = command.mut_args(|argument| match argument.get_id().as_str() {
        "set" => argument.add(ArgValueCompleter::new(settings_beginning)),
        id => match Names::of(id) {
            Some(names) => argument.add(ArgValueCompleter::new(move |current: &OsStr| names.beginning(current))),
            None => argument,
        },
    });
    command.mut_subcommands(completed)
}
