//! The names of the settings that sweep knows: `SWEEP_…` in the environment or in the file of `--config`, and in lower
//! case without the prefix behind `--set`.
//!
//! The file has one NAME=VALUE on a line. An error names the line and the setting, never the value: it may be a secret.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use clap::{Args, Command};
use regex::Regex;

use super::definition::{Assignment, KnownSetting, PREFIX, is_of_sweep};
use super::environment::{Environment, SetIn, TypedSettings};
use super::resolve::{CommonFlags, SweepFlags};
use super::table::{all, find};
use crate::conclusion::{Failure, config};
use crate::files::{self, SETTINGS_BYTES_MAX};

/// Some editors begin a file with this mark that it is UTF-8.
const MARK: &str = "\u{FEFF}";

/// One setting, and where it stands.
#[derive(Debug, PartialEq)]
struct FileLine {
    number: usize,
    name: String,
    value: String,
}

/// Adds to the process's variables what the file of `--config`, else of SWEEP_CONFIG, says, and what the command line
/// says; refuses what is called as a setting is and is none.
pub fn complete(mut environment: Environment, typed: &TypedSettings) -> Result<Environment, Failure> {
    let of_variable = || Some(("SWEEP_CONFIG", PathBuf::from(environment.get("SWEEP_CONFIG")?)));
    if let Some((option, path)) = typed.file.clone().map(|path| ("--config", path)).or_else(of_variable) {
        add_file(&mut environment, option, &path)
            .map_err(|why| config(format!("{option} {}: {why}", path.display())))?;
    }
    let environment = environment.with(typed);
    environment.variables.keys().try_for_each(|name| refuse_unknown(name))?;
    Ok(environment)
}

fn add_file(environment: &mut Environment, option: &str, path: &Path) -> Result<(), String> {
    let shown = path.display();
    let found = files::read_own(path, SETTINGS_BYTES_MAX)?;
    let lines = parse(&found.bytes)?;
    if found.is_open_to_others {
        refuse_secrets(&lines)?;
        environment.warnings.push(format!("{option} {shown}: others may write this file: chmod go-w {shown}"));
    }
    for FileLine { number, name, value } in lines {
        if is_quoted(&value) {
            environment.warnings.push(format!(
                "{option} {shown}: line {number}: the quotes around the value of {name} are a part of it: leave them \
                 out"
            ));
        }
        refuse_unknown(&name).map_err(|why| format!("line {number}: {why}"))?;
        environment.complete(name, value, SetIn::File(path.to_owned(), number));
    }
    Ok(())
}

/// A value is what stands there, without the spaces around it: quotes, `$`, `#` and backslashes are as any character.
fn parse(bytes: &[u8]) -> Result<Vec<FileLine>, String> {
    let mut lines: Vec<FileLine> = Vec::new();
    let bytes = bytes.strip_prefix(MARK.as_bytes()).unwrap_or(bytes);
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        let refuse = |why: String| Err(format!("line {number}: {why}"));
        let Ok(line) = str::from_utf8(line) else { return refuse("expected UTF-8".to_owned()) };
        if line.contains('\0') {
            return refuse("expected no NUL character".to_owned());
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // Any other name may be a piece of a secret as well.
        let Some((name, value)) = setting_in(line).filter(|(name, _)| is_of_sweep(name)) else {
            return refuse("expected NAME=VALUE, where NAME is SWEEP_…, DATABASE_URL or DATABASE_URL_FILE".to_owned());
        };
        if let Some(earlier) = lines.iter().find(|line| line.name == name) {
            return refuse(format!("{name} is set in line {} already", earlier.number));
        }
        lines.push(FileLine { number, name: name.to_owned(), value: value.to_owned() });
    }
    Ok(lines)
}

/// The text of a file with this value of a setting, or without any. A setting that stands there behind a `#` comes
/// below that line.
pub fn edited(text: &str, name: &str, value: Option<&str>) -> String {
    let is_it = |line: &str| setting_in(line).is_some_and(|(set, _)| set == name);
    let is_offered = |line: &str| line.starts_with(&format!("#{name}="));
    with_line(text, is_it, is_offered, value.map(|value| format!("{name}={value}")))
}

/// A text with a new line in the place of the first that `is_it`, or without that one. Without such a line the new one
/// comes below the first that `is_above`, or comes last. All else stays as it is, as do the ends of lines.
pub fn with_line(
    text: &str,
    is_it: impl Fn(&str) -> bool,
    is_above: impl Fn(&str) -> bool,
    new: Option<String>,
) -> String {
    let (mark, text) = text.strip_prefix(MARK).map_or(("", text), |text| (MARK, text));
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let place = lines.iter().position(|line| is_it(line));
    match (place, new.map(|new| new + end)) {
        (Some(at), new) => drop(lines.splice(at..=at, new)),
        (None, Some(new)) => {
            if let Some(last) = lines.last_mut().filter(|last| !last.ends_with('\n')) {
                *last += end;
            }
            let above = lines.iter().position(|line| is_above(line));
            lines.insert(above.map_or(lines.len(), |at| at + 1), new);
        }
        (None, None) => {}
    }
    mark.to_owned() + &lines.concat()
}

/// The value that the text of a file gives the setting; an empty one is none.
pub fn value_of<'text>(text: &'text str, name: &str) -> Option<&'text str> {
    let mut set = text.strip_prefix(MARK).unwrap_or(text).lines().filter_map(setting_in);
    set.find(|(set, _)| *set == name).map(|(_, value)| value).filter(|value| !value.is_empty())
}

/// The name and the value that a line has, without the spaces around them; none: the line is empty or a comment.
fn setting_in(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once('=').filter(|_| !line.trim_start().starts_with('#'))?;
    Some((name.trim(), value.trim()))
}

/// A line of a file as it may be shown: without the value of a secret, wherever a secret's name stands in it.
pub fn without_secret(line: &str) -> Cow<'_, str> {
    static VALUE: LazyLock<Regex> = LazyLock::new(|| {
        let secrets = all().filter(|known| known.is_secret).map(KnownSetting::variable);
        let names: Vec<String> = ["DATABASE_URL".to_owned()].into_iter().chain(secrets).collect();
        Regex::new(&format!(r#"\b((?:{})["']?\s*[=:]).*"#, names.join("|"))).expect("a regular expression")
    });
    VALUE.replace(line, "$1***")
}

/// As a shell, or systemd's EnvironmentFile=, would take the quotes away.
fn is_quoted(value: &str) -> bool {
    ['"', '\''].iter().any(|quote| 1 < value.len() && value.starts_with(*quote) && value.ends_with(*quote))
}

/// Refuses secrets and destinations in a file that others may write: they would choose who gets the password and the
/// messages.
fn refuse_secrets(lines: &[FileLine]) -> Result<(), String> {
    let is_for_a_secret = |name: &str| may_have_a_file(name) || name.strip_suffix("_FILE").is_some_and(may_have_a_file);
    match lines.iter().find(|line| is_for_a_secret(&line.name) && !line.value.is_empty()) {
        None => Ok(()),
        Some(FileLine { number, name, .. }) => {
            Err(format!("line {number}: {name} cannot be set in a file that others may write: chmod go-w"))
        }
    }
}

/// Settings of earlier releases, and what there is in their place.
const GONE: [(&str, &str); 8] = [
    ("durable", "several subjects always wait for the disk together"),
    ("hung_after", "a sweep hangs when it makes no progress for ten times SWEEP_STATEMENT_TIMEOUT"),
    ("listen_grace", "the host says how long it needs after the end of a run"),
    ("lock_timeout", "a foreign-key check waits for a lock for at most 500ms"),
    ("output", "use the option --output"),
    ("relaunches_max", "a crashed session is relaunched once in an episode"),
    ("statement_cache", "sweep notices by itself when a pooler loses its prepared statements"),
    ("watch_interval", "how often a watcher looks follows from its thresholds"),
];

/// What there is in place of a setting of an earlier release.
pub fn instead_of(name: &str) -> Option<&'static str> {
    GONE.iter().find(|(gone, _)| *gone == name).map(|(_, instead)| *instead)
}

/// True if this variable may be kept in a file of its own, which the variable of the same name and `_FILE` names.
pub fn may_have_a_file(variable: &str) -> bool {
    variable == "DATABASE_URL" || find(variable).is_some_and(|known| known.is_secret)
}

/// All variables that are settings, in the order of the table.
pub fn variables() -> impl Iterator<Item = String> {
    let file = |known: &KnownSetting| known.is_secret.then(|| format!("{}_FILE", known.variable()));
    all().flat_map(move |known| [Some(known.variable()), file(known)]).flatten()
}

/// Kubernetes gives every pod such variables of a service that is named `sweep`, or `sweep-…`.
fn is_service_link(name: &str) -> bool {
    name == "PORT" || name.starts_with("PORT_") || name.contains("_PORT") || name.ends_with("SERVICE_HOST")
}

/// Refuses a `SWEEP_…` that is not known.
pub fn refuse_unknown(variable: &str) -> Result<(), Failure> {
    let Some(name) = variable.strip_prefix(PREFIX).filter(|name| !is_service_link(name)) else { return Ok(()) };
    if variables().any(|known| known == variable) {
        return Ok(());
    }
    let lower = name.to_lowercase();
    let hint = match lower.as_str() {
        "database" | "database_url" | "db" | "db_url" | "url" => "the database's is DATABASE_URL".to_owned(),
        "database_url_file" | "database_file" => "the database's is DATABASE_URL_FILE".to_owned(),
        _ => hint(&lower, &variable.to_uppercase(), variables()),
    };
    Err(config(format!("{variable}: no such setting; {hint}")))
}

/// Reads the value of `--set`.
pub fn assignment(text: &str) -> Result<Assignment, String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE, such as orphan_grace=5m")?;
    let Some(known) = find(name.trim()) else {
        let lower = name.trim().to_lowercase();
        let lower = lower.strip_prefix("sweep_").unwrap_or(&lower);
        return Err(format!("no such setting; {}", hint(lower, lower, all().map(|known| known.name.to_owned()))));
    };
    if known.is_secret {
        let variable = known.variable();
        return Err(format!("everybody can read a command line: set {variable}, or {variable}_FILE"));
    }
    if known.name == "config" {
        return Err("use the option --config".to_owned());
    }
    known.assign(value)
}

/// What to do about a setting that there is not: `name` in lower case without a prefix, `written` as it was spelt.
fn hint(name: &str, written: &str, names: impl Iterator<Item = String>) -> String {
    if let Some(instead) = instead_of(name) {
        return instead.to_owned();
    }
    if is_option(name) {
        return format!("there is only the option --{}", name.replace('_', "-"));
    }
    match names.map(|known| (strsim::damerau_levenshtein(written, &known), known)).min() {
        Some((distance, known)) if distance <= 3 => format!("did you mean {known}?"),
        _ => "`sweep config` lists all that there are".to_owned(),
    }
}

/// True if this is an option that is given each time.
fn is_option(name: &str) -> bool {
    let command = CommonFlags::augment_args(SweepFlags::augment_args(Command::new("sweep")));
    command.get_arguments().any(|argument| argument.get_id() == name)
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use regex::Regex;

    use super::parse;

    static WITHOUT_A_VALUE: LazyLock<Regex> = LazyLock::new(|| {
        let whys = [
            "expected UTF-8",
            "expected no NUL character",
            "expected NAME=VALUE, where NAME is SWEEP_…, DATABASE_URL or DATABASE_URL_FILE",
            "(SWEEP_[A-Z]*|DATABASE_URL|DATABASE_URL_FILE) is set in line [0-9]+ already",
        ];
        Regex::new(&format!("^line [0-9]+: ({})$", whys.join("|"))).expect("an expression")
    });

    proptest! {
        #[test]
        fn an_error_repeats_nothing_but_names(
            lines in prop::collection::vec("(SWEEP_|DATABASE_URL|DATABASE_URL_FILE)?[ A-Z]{0,2}=?[ -~ä]{0,12}", 1..6),
            byte in prop::option::of(128_u8..),
        ) {
            let bytes: Vec<u8> = lines.join("\n").into_bytes().into_iter().chain(byte).collect();
            if let Err(why) = parse(&bytes) {
                prop_assert!(WITHOUT_A_VALUE.is_match(&why), "{why}");
            }
        }

        #[test]
        fn a_byte_order_mark_is_no_part_of_the_first_name(name in "SWEEP_[A-Z]{1,9}") {
            let lines = parse(format!("\u{FEFF}{name}=1").as_bytes()).expect("one setting");
            prop_assert_eq!(&lines[0].name, &name);
        }

        #[test]
        fn a_value_comes_out_as_it_was_written(value in "[ -~äß→]{0,40}") {
            let text = format!("SWEEP_NUDGE_MESSAGE={value}\n");
            let lines = parse(text.as_bytes()).expect("one setting");
            prop_assert_eq!(lines[0].value.as_str(), value.trim());
        }
    }
}
