//! Parse, run, print the error, exit.

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use sweep::cli::Cli;
use sweep::exit::{Exit, code_of};
use sweep::text::shown;
use sweep::{commands, settings::Environment, telemetry};

fn main() -> ExitCode {
    // Other processes of the same user, such as a watched agent, read neither its memory nor its environment; and no core file holds a secret.
    #[cfg(target_os = "linux")]
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    let environment = Environment::of_process();
    let mark = telemetry::mark_of_errors(&environment);
    let fail = |message: &str, exit| fail(&format!("{mark}sweep: {}", shown(message)), exit);
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let _ = error.print();
            return code(Exit::Done);
        }
        // clap itself would exit with 2, which means something else here.
        Err(error) => return fail(&first_words(&error), Exit::Usage),
    };
    match commands::run(cli, environment) {
        Ok(exit) => code(exit),
        Err(error) => fail(&format!("{error:#}"), code_of(&error)),
    }
}

/// One line on stderr: a URL that was given in the wrong place is not repeated with its password. One that nobody reads any more is no reason to fail otherwise.
fn fail(line: &str, exit: Exit) -> ExitCode {
    let _ = writeln!(anstream::stderr(), "{line}");
    code(exit)
}

/// clap's error and its tip, without the usage.
fn first_words(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let told = text.split("\n\n").take_while(|part| !part.starts_with("Usage:") && !part.starts_with("For more"));
    let told: Vec<&str> = told.map(str::trim).collect();
    let told = told.join("; ");
    format!("{} (see `sweep --help`)", told.strip_prefix("error: ").unwrap_or(&told))
}

fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}
