//! `sweep completions`: what a shell needs to complete sweep's arguments.

use clap::CommandFactory;

use super::say;
use crate::cli::{Cli, CompletionsFlags};
use crate::exit::Exit;

pub fn run(flags: &CompletionsFlags) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(flags.shell, &mut Cli::command(), "sweep", &mut script);
    say(&String::from_utf8_lossy(&script));
    Exit::Done
}
