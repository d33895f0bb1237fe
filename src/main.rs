//! Parse, run, print the error, exit.

#![deny(unsafe_code)]

mod c_library;

use std::io::{Write, stderr};
use std::process::ExitCode;

use clap::error::ErrorKind;
#[cfg(target_os = "linux")]
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use sweep::cli::{Cli, render_mistake};
use sweep::conclusion::{Conclusion, conclusion_of};
use sweep::report::page;
use sweep::text::redact;
use sweep::{commands, settings::Environment, telemetry};

fn main() -> ExitCode {
    c_library::silence_stderr();
    c_library::look_names_up_by_itself();
    // Other processes of the same user, such as a watched agent, read neither its memory nor its environment; and no
    // core file holds a secret.
    #[cfg(target_os = "linux")]
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    if commands::completions::answer() {
        return code(Conclusion::Done);
    }
    let environment = Environment::of_process();
    let mark = telemetry::mark_of_errors(&environment);
    let fail = |message: &str, exit| fail(&format!("{mark}sweep: {}", redact(message)), exit);
    let arguments: Vec<_> = std::env::args_os().collect();
    let cli = match Cli::read(arguments.clone()) {
        Ok(cli) => cli,
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            let _ = error.print();
            return code(Conclusion::Done);
        }
        // clap itself would exit with 2, which means something else here.
        Err(error) => return fail(&render_mistake(&error, &arguments), Conclusion::Usage),
    };
    match commands::run(cli, environment) {
        Ok(exit) => code(exit),
        Err(error) => fail(&format!("{error:#}"), conclusion_of(&error)),
    }
}

/// One line on stderr, wrapped on a terminal: a URL that was given in the wrong place is not repeated with its
/// password. One that nobody reads any more is no reason to fail otherwise.
fn fail(line: &str, exit: Conclusion) -> ExitCode {
    let line = page::wrapped_within(page::columns(stderr()), line);
    let _ = writeln!(anstream::stderr(), "{line}");
    code(exit)
}

fn code(exit: Conclusion) -> ExitCode {
    ExitCode::from(exit as u8)
}
