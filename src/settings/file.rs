//! The file of `--config`: one NAME=VALUE on a line. An error names the line and the setting, never the value: it may
//! be a secret.

use std::path::{Path, PathBuf};

use super::definition::is_of_sweep;
use super::environment::{Environment, SetIn, TypedSettings};
use super::names::{may_have_a_file, refuse_unknown, refuse_unknown_in};
use crate::conclusion::{Failure, config};
use crate::files::{self, SETTINGS_BYTES_MAX};

/// One setting, and where it stands.
#[derive(Debug, PartialEq)]
struct Line {
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
    refuse_unknown_in(&environment)?;
    Ok(environment)
}

fn add_file(environment: &mut Environment, option: &str, path: &Path) -> Result<(), String> {
    let shown = path.display();
    let found = files::read_own(path, SETTINGS_BYTES_MAX)?;
    let lines = parse(&found.bytes)?;
    if found.is_open_to_others {
        refuse_secrets(&lines)?;
        environment.warn(format!("{option} {shown}: others may write this file: chmod go-w {shown}"));
    }
    for Line { number, name, value } in lines {
        if is_quoted(&value) {
            environment.warn(format!(
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
fn parse(bytes: &[u8]) -> Result<Vec<Line>, String> {
    let mut lines: Vec<Line> = Vec::new();
    // Some editors begin a file with a mark that it is UTF-8.
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
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
        let setting = line.split_once('=').map(|(name, value)| (name.trim_end(), value.trim_start()));
        // Any other name may be a piece of a secret as well.
        let Some((name, value)) = setting.filter(|(name, _)| is_of_sweep(name)) else {
            return refuse("expected NAME=VALUE, where NAME is SWEEP_…, DATABASE_URL or DATABASE_URL_FILE".to_owned());
        };
        if let Some(earlier) = lines.iter().find(|line| line.name == name) {
            return refuse(format!("{name} is set in line {} already", earlier.number));
        }
        lines.push(Line { number, name: name.to_owned(), value: value.to_owned() });
    }
    Ok(lines)
}

/// As a shell, or systemd's EnvironmentFile=, would take the quotes away.
fn is_quoted(value: &str) -> bool {
    ['"', '\''].iter().any(|quote| 1 < value.len() && value.starts_with(*quote) && value.ends_with(*quote))
}

/// Refuses secrets and destinations in a file that others may write: they would choose who gets the password and the
/// messages.
fn refuse_secrets(lines: &[Line]) -> Result<(), String> {
    let is_for_a_secret = |name: &str| may_have_a_file(name) || name.strip_suffix("_FILE").is_some_and(may_have_a_file);
    match lines.iter().find(|line| is_for_a_secret(&line.name) && !line.value.is_empty()) {
        None => Ok(()),
        Some(Line { number, name, .. }) => {
            Err(format!("line {number}: {name} cannot be set in a file that others may write: chmod go-w"))
        }
    }
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
