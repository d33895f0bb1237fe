//! `sweep completions` and `sweep man`: made from the command line as it is, whatever the settings are.

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use clap::CommandFactory;
use sweep::cli::Cli;

use crate::support::program::sweep;

/// `sweep`, `sweep-exempt`, `sweep-exempt-add` …
fn commands(of: &clap::Command, name: String) -> Vec<String> {
    let below = of.get_subcommands().flat_map(|command| commands(command, format!("{name}-{}", command.get_name())));
    [name.clone()].into_iter().chain(below).collect()
}

fn all_commands() -> BTreeSet<String> {
    commands(&Cli::command(), "sweep".to_owned()).into_iter().collect()
}

#[test]
fn the_completions_are_a_script_of_their_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = sweep(["completions", shell]).env("SWEEP_LIMIT", "malformed").run().done().out;
        assert!(script.contains("SWEEP_COMPLETE") && !script.contains("target/"), "{shell}: {script}");
    }
    let script = sweep(["completions", "bash"]).run().done().out;
    let mut bash = Command::new("bash").arg("-n").stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("bash");
    bash.stdin.take().expect("a pipe").write_all(script.as_bytes()).expect("written");
    let output = bash.wait_with_output().expect("an end");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    sweep(["completions", "tcsh"]).run().refused(64, &["tcsh"]);
}

const OWN_SECTIONS: [&str; 5] =
    [".SH EXAMPLES", ".SH ENVIRONMENT", ".SH FILES", ".SH \"EXIT STATUS\"", ".SH \"SEE ALSO\""];

#[test]
fn every_command_has_a_page_that_renders_without_a_warning() {
    let directory = tempfile::tempdir().expect("a directory");
    let below = directory.path().join("man1");

    sweep(["man", below.to_str().expect("a path")]).run().done();

    let entries = std::fs::read_dir(&below).expect("pages").map(|entry| entry.expect("a page").file_name());
    let pages: BTreeSet<String> = entries.map(|name| name.into_string().expect("a name")).collect();
    let expected: BTreeSet<String> = all_commands().into_iter().map(|command| format!("{command}.1")).collect();
    assert_eq!(pages, expected);
    for page in &pages {
        let path = below.join(page);
        let text = std::fs::read_to_string(&path).expect("a page");
        for part in [".TH sweep", ".SH NAME", ".SH SYNOPSIS", ".SH DESCRIPTION"].into_iter().chain(OWN_SECTIONS) {
            assert!(text.contains(part), "{page} has no {part}");
        }
        let man = Command::new("man")
            .args(["--warnings", "-E", "UTF-8", "-l"])
            .arg(&path)
            .env("MANWIDTH", "100")
            .env("LC_ALL", "C.UTF-8")
            .output()
            .expect("man");
        let said = String::from_utf8_lossy(&man.stderr);
        assert!(man.status.success() && said.is_empty(), "{page}: {said}");
    }
}

#[test]
fn without_a_directory_the_main_page_is_printed() {
    let page = sweep(["man"]).run().done().out;
    assert!(page.contains(".TH sweep 1") && page.contains("EXIT STATUS") && page.contains("sweep\\-status"), "{page}");
    sweep(["man", "/proc/nowhere"]).run().refused(1, &["/proc/nowhere"]);
}
