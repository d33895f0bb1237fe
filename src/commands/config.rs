//! `sweep config`: every setting as it will be used, and where it comes from. What cannot be used is shown as well.
//! `sweep notify test`: is there a way to those who are to be notified?

use std::path::Path;

use anyhow::Result;
use owo_colors::OwoColorize;
use secrecy::ExposeSecret;
use serde_json::json;

use super::terminal::{Layout, print_wrapped, say_done};
use crate::conclusion::{self, Conclusion};
use crate::notify::trial::send_tests;
use crate::report::grid::with_header;
use crate::settings::effective::{Origin, Setting, effective};
use crate::settings::table::all;
use crate::settings::{Environment, ScopeFlags, find_databases, resolve};
use crate::telemetry;
use crate::text::redact;

pub fn run(layout: Layout, file: Option<&Path>, environment: &Environment) -> Result<Conclusion> {
    let mut settings = effective(environment);
    // Some are right with another one only.
    let is_right = check(environment).is_ok();
    for setting in &mut settings {
        setting.error = if is_right { None } else { complaint(setting, environment) };
        if let ("SWEEP_CONFIG", Some(file)) = (setting.name.as_str(), file) {
            setting.value = Some(redact(&file.to_string_lossy()));
        }
    }
    let malformed: Vec<&str> =
        settings.iter().filter(|setting| setting.error.is_some()).map(|setting| setting.name.as_str()).collect();
    layout.print(|| table(&settings), || json!({ "schema": 1, "settings": settings }));
    match malformed.as_slice() {
        // Each may be right, and all together not.
        [] => check(environment).map(|()| Conclusion::Done),
        names => Err(conclusion::config(format!("what is set cannot be used: {}", names.join(", "))).into()),
    }
}

/// Everything that reads the environment, as when a command starts: their word counts, and nobody else's.
pub(super) fn check(environment: &Environment) -> Result<()> {
    resolve::daemon(ScopeFlags::default(), environment)?;
    telemetry::check(environment)?;
    find_databases(environment)?;
    for secret in all().filter(|known| known.is_secret) {
        environment.secret(&secret.variable())?;
    }
    Ok(())
}

/// Why this setting is refused, whatever the others are.
fn complaint(setting: &Setting, environment: &Environment) -> Option<String> {
    let alone = environment.with_only(&setting.name);
    let message = format!("{:#}", check(&alone).err()?);
    let mut words = message.split(|c: char| c != '_' && !c.is_ascii_uppercase());
    if setting.source == Origin::Default || !words.any(|word| word == setting.name) {
        return None;
    }
    let message = message.strip_prefix(&format!("{}: ", setting.name)).unwrap_or(&message);
    // A message that quotes the value must not quote a secret.
    Some(match alone.secret(&setting.name) {
        Ok(Some(value)) if setting.secret => redact(&message.replace(value.expose_secret(), "***")),
        Ok(_) | Err(_) => redact(message),
    })
}

/// What was set comes first.
fn table(settings: &[Setting]) -> String {
    let (set, defaults): (Vec<&Setting>, Vec<&Setting>) =
        settings.iter().partition(|setting| setting.source != Origin::Default || setting.error.is_some());
    let wrong = |setting: &Setting| setting.error.clone().unwrap_or_default();
    let rows = set.iter().map(|setting| [setting.name.clone(), value(setting), from(setting), wrong(setting)]);
    let set = match set.iter().any(|setting| setting.error.is_some()) {
        true => with_header(["setting", "value", "from", "what is wrong"], rows, &[]),
        false => with_header(["setting", "value", "from"], rows.map(|[name, value, from, _]| [name, value, from]), &[]),
    };
    let set = if set.is_empty() { "  Nothing is set\n".to_owned() } else { set };
    let defaults =
        with_header(["setting", "default"], defaults.iter().map(|setting| [setting.name.clone(), value(setting)]), &[]);
    let version = env!("CARGO_PKG_VERSION");
    format!("{} of sweep {version}\n\n{set}\n{}\n\n{defaults}", "Settings".bold(), "Everything else".bold())
}

fn value(setting: &Setting) -> String {
    match (&setting.value, &setting.error) {
        (Some(value), Some(_)) => value.red().to_string(),
        (Some(value), None) => value.clone(),
        (None, _) => "none".dimmed().to_string(),
    }
}

fn from(setting: &Setting) -> String {
    let from = match (setting.source, &setting.file) {
        (Origin::File, Some(file)) => return format!("file {file}"),
        (Origin::File, None) => "file",
        (Origin::CommandLine, _) => "command line",
        (Origin::Environment, _) => "environment",
        (Origin::Default, _) => "default",
    };
    from.to_owned()
}

pub fn test_notifications(layout: Layout, environment: &Environment) -> Result<Conclusion> {
    let results = send_tests(&resolve::notify(environment)?);
    if results.is_empty() {
        let names = "SWEEP_SLACK_URL, SWEEP_TEAMS_URL, SWEEP_EMAIL_URL, SWEEP_PAGERDUTY_URL, SWEEP_WEBHOOK_URL and \
             SWEEP_WEBHOOK_SECRET, or SWEEP_PING_URL";
        return Err(conclusion::config(format!("nobody can be notified: set {names}")).into());
    }
    let failed = results.iter().filter_map(|(name, result)| Some((name.to_string(), result.clone().err()?)));
    let failed: Vec<(String, String)> = failed.collect();
    match layout {
        Layout::Json => {
            let delivered = results.iter().filter(|(_, result)| result.is_ok());
            say_done("notify test", &delivered.map(|(name, _)| name.to_string()).collect::<Vec<_>>(), &failed);
        }
        Layout::Table | Layout::Quiet => results.iter().for_each(|(name, result)| match result {
            Ok(()) => print_wrapped(&format!("{name}: delivered\n")),
            Err(why) => print_wrapped(&format!("{name}: failed: {why}\n")),
        }),
    }
    Ok(if failed.is_empty() { Conclusion::Done } else { Conclusion::Unavailable })
}
