//! `sweep notify test`: is there a way to those who are to be notified?

use anyhow::Result;

use super::terminal::{Layout, print_wrapped, say_done};
use crate::conclusion::{Conclusion, config};
use crate::notify::trial::send_tests;
use crate::settings::Environment;
use crate::settings::resolve::notify;

pub fn test(layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let results = send_tests(&notify(environment)?);
    if results.is_empty() {
        let names = "SWEEP_SLACK_URL, SWEEP_WEBHOOK_URL and SWEEP_WEBHOOK_SECRET, or SWEEP_PING_URL";
        return Err(config(format!("nobody can be notified: set {names}")).into());
    }
    let of = |result: &Result<(), String>, name: &str| result.clone().err().map(|why| (name.to_owned(), why));
    let failed: Vec<(String, String)> = results.iter().filter_map(|(name, result)| of(result, name)).collect();
    match layout {
        Layout::Json => {
            let delivered = results.iter().filter(|(_, result)| result.is_ok());
            let delivered: Vec<String> = delivered.map(|(name, _)| (*name).to_owned()).collect();
            say_done("notify test", &delivered, &failed);
        }
        Layout::Table => results.iter().for_each(|(name, result)| match result {
            Ok(()) => print_wrapped(&format!("{name}: delivered\n")),
            Err(why) => print_wrapped(&format!("{name}: failed: {why}\n")),
        }),
    }
    Ok(if failed.is_empty() { Conclusion::Done } else { Conclusion::Unavailable })
}
