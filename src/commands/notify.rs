//! `sweep notify test`: is there a way to those who are to be notified?

use anyhow::Result;

use super::terminal::print_wrapped;
use crate::cli::NotifyCommand;
use crate::conclusion::{Conclusion, config};
use crate::notify::trial::send_tests;
use crate::settings::Environment;

pub fn run(command: NotifyCommand, environment: &Environment) -> Result<Conclusion> {
    match command {
        NotifyCommand::Test => test(environment),
    }
}

fn test(environment: &Environment) -> Result<Conclusion> {
    let results = send_tests(&environment.notify()?);
    if results.is_empty() {
        let names = "SWEEP_SLACK_URL, SWEEP_WEBHOOK_URL and SWEEP_WEBHOOK_SECRET, or SWEEP_PING_URL";
        return Err(config(format!("nobody can be notified: set {names}")).into());
    }
    for (name, result) in &results {
        match result {
            Ok(()) => print_wrapped(&format!("{name}: delivered\n")),
            Err(why) => print_wrapped(&format!("{name}: failed: {why}\n")),
        }
    }
    Ok(if results.iter().all(|(_, result)| result.is_ok()) { Conclusion::Done } else { Conclusion::Unavailable })
}
