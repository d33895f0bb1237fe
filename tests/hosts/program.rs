//! Runs the built program, and reads its answers.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// sweep without this machine's own settings, and without its home, by which a server's processes are known.
pub fn sweep(directory: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sweep"));
    command.env_clear().env("RUST_BACKTRACE", "1").env("PATH", "/usr/bin:/bin").current_dir(directory);
    command.env("HOME", "/nonexistent").stdin(Stdio::null());
    command
}

/// Runs a command, and returns its output; a failure ends the test.
pub fn succeed(command: &mut Command) -> String {
    let output = command.output().expect("a program");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}{err}");
    out.into_owned()
}

/// The report of one sweep, however the sweep ends.
pub fn report_of(command: &mut Command) -> Value {
    let output = command.args(["--output", "json"]).output().expect("sweep");
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Makes the roles of deploy/postgres/role.sql: `sweeper` may do what a sweep needs, and `sweep_reader` calls nothing
/// that may write.
pub fn grant_roles(url: &str) {
    let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/postgres/role.sql");
    succeed(Command::new("psql").args(["-q", "-X", "-o", "/dev/null", "-f"]).arg(roles).arg(url));
    let too_many = "select proname from pg_proc where pronamespace = 'sweep'::regnamespace and provolatile = 'v'
        and has_function_privilege('sweep_reader', oid, 'execute')";
    assert_eq!(succeed(Command::new("psql").args(["-q", "-X", "-A", "-t", "-c", too_many]).arg(url)), "");
}

/// The `found` of one clause of an explanation.
pub fn found_of<'a>(explained: &'a Value, demand: &str) -> &'a str {
    let clauses = explained["clauses"].as_array().expect("clauses");
    let clause = clauses.iter().find(|clause| clause["demand"] == demand);
    clause.and_then(|clause| clause["found"].as_str()).unwrap_or_else(|| panic!("no {demand}: {explained}"))
}

/// A report's entry for an issue; None: it was no candidate.
pub fn said_of<'a>(report: &'a Value, issue: &str) -> Option<&'a Value> {
    report["subjects"].as_array().expect("subjects").iter().find(|subject| subject["id"] == issue)
}
