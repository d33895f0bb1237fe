//! Parse, run, print the error, exit.

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use sweep::cli::Cli;
use sweep::exit::{Exit, code_of};
use sweep::{commands, settings::Environment};

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // clap itself would exit with 2, which means something else here.
            return code(if asked { Exit::Done } else { Exit::Usage });
        }
    };
    match commands::run(cli, &Environment::of_process()) {
        Ok(exit) => code(exit),
        Err(error) => {
            anstream::eprintln!("sweep: {}", sweep::rules::words::one_line(&format!("{error:#}")));
            code(code_of(&error))
        }
    }
}

fn code(exit: Exit) -> ExitCode {
    ExitCode::from(exit as u8)
}
