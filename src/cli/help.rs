//! What `-h`, `--help` and the manual pages say besides the options.

mod pages;

use clap::{Command, CommandFactory};

use super::command_line::Cli;
use pages::PAGES;
pub use pages::Page;

/// What each exit code means.
pub const EXIT_CODES: &[(&str, &str)] = &[
    ("0", "done, or nothing to do"),
    ("1", "some subjects failed; what was asked for is refused; or the question was not answered with yes"),
    ("2", "with --detailed-exitcode: something was (in a dry run: would be) done"),
    ("4", "the guard left a kind alone: too much of it looks stranded"),
    ("64", "wrong arguments"),
    ("69", "the database is unavailable; try again"),
    ("75", "everything that was left was busy; try again"),
    ("78", "wrong settings, rights or schema; trying again does not help"),
    ("130", "ended by Ctrl-C, after what was in hand"),
    ("143", "ended by SIGTERM, after what was in hand"),
];

/// Sweep's command line with all its texts.
pub fn command() -> Command {
    described(Cli::command().subcommand_help_heading("Commands"), &[])
}

/// What there is to know of the command of these words.
pub fn page_of(path: &[&str]) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.command == path)
}

fn described(command: Command, path: &[&str]) -> Command {
    let command = short(command).mut_subcommands(|below| {
        let name = below.get_name().to_owned();
        described(below, &[path, &[name.as_str()]].concat())
    });
    let Some(page) = page_of(path) else { return command };
    let name = [&["sweep"], path].concat().join(" ");
    let long = [
        render_examples(page),
        if path.is_empty() { render_exit_codes() } else { String::new() },
        page.notes.to_owned(),
    ];
    let long = long.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    command.after_help(format!("`{name} --help` says more: all options, with examples.")).after_long_help(long)
}

/// `-h` has what is of use every day: the options of no group.
fn short(command: Command) -> Command {
    command.mut_args(|argument| {
        let is_grouped = argument.get_help_heading().is_some();
        if is_grouped { argument.hide_short_help(true) } else { argument }
    })
}

fn render_examples(page: &Page) -> String {
    let lines = page.examples.iter().map(|(what, line)| format!("  # {what}\n  {line}"));
    format!("Examples:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn render_exit_codes() -> String {
    let lines = EXIT_CODES.iter().map(|(code, what)| format!("  {code:>3}  {what}"));
    format!("Exit codes:\n{}", lines.collect::<Vec<_>>().join("\n"))
}
