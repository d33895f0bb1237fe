//! `sweep completions`: what a shell needs to complete sweep's arguments, and the answer when it asks.
//!
//! The script asks sweep itself at each TAB, by a variable in the environment. Such a process answers and does nothing
//! else.

mod names;

use anyhow::{Context, Result};
use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::ArgValueCompleter;
use clap_complete::env::Shells;

use super::terminal::say;
use crate::cli::{self, CompletionsFlags};
use crate::conclusion::Conclusion;
use names::Names;

/// By which a shell asks; no setting.
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

/// The command line, whose values are completed from the database where they are names in it.
fn command() -> Command {
    completed(cli::command())
}

fn completed(command: Command) -> Command {
    let command = command.mut_args(|argument| match Names::of(argument.get_id().as_str()) {
        Some(names) => argument.add(ArgValueCompleter::new(move |current: &std::ffi::OsStr| names.beginning(current))),
        None => argument,
    });
    command.mut_subcommands(completed)
}
