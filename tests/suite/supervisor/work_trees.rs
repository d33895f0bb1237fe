//! What git's files tell of a watched agent's work, and which tool it says that it uses.

use std::fs;
use std::process::Command;
use std::sync::Arc;

use crate::support::program::BINARY;
use crate::support::wait::wait_for;
use crate::support::watcher::Watcher;
use crate::support::world::{World, on_each_database};

/// A repository whose configuration has git run a program, and an agent of which only a spinner turns.
const SPINNER: &str = r#"
    git init --quiet; git config user.name Ada; git config user.email ada@localhost
    printf '#!/bin/sh\ntouch ran\n' > fsmonitor; chmod +x fsmonitor
    WORK &
    while :; do for c in / - '|'; do printf "\r$c thinking"; sleep 0.1; done; done"#;

const NO_PROGRESS_AFTER: [&str; 4] = ["--set", "session_no_progress_after=4s", "--set", "session_silent_after=10m"];

/// Plays the spinner beside this work, which ends when there is a file `stop`, and returns how often its agent was
/// found to be without progress while the work was done ten times.
fn escalations(world: &mut World, work: &str) -> i64 {
    let counted = format!("{work}; n=$((n + 1)); echo $n > done; sleep 1");
    let work =
        format!("(n=0; until [ -e stop ]; do {counted}; done; git config core.fsmonitor ./fsmonitor) 2>> errors");
    let watcher = Watcher::watch_script(&world.url, &NO_PROGRESS_AFTER, &SPINNER.replace("WORK", &work));
    let done = || fs::read_to_string(watcher.file("done")).ok()?.trim().parse::<u32>().ok();
    wait_for("work", || done().filter(|times| 10 <= *times));
    let escalations = world.recovered("escalate");
    fs::write(watcher.file("stop"), "").expect("a file");
    world.until_recovered("escalate");
    let reason = world.text("reason", "recoveries where action = 'escalate'");
    assert_eq!(reason.as_deref(), Some("it moves, and does nothing new"));
    assert!(!watcher.file("ran").exists() && !watcher.file(".git/index.lock").exists());
    watcher.stop();
    escalations
}

on_each_database! {
    /// P18
    fn an_agent_that_commits_makes_progress_and_no_longer_when_it_stops(world) {
        assert_eq!(escalations(world, "git commit --quiet --allow-empty --message work"), 0);
    }

    fn an_agent_that_writes_new_text_into_tracked_files_makes_progress(world) {
        assert_eq!(escalations(world, "echo $n > a; git add a; date +%s%N > a"), 0);
    }

    fn an_agent_that_changes_nothing_for_good_makes_none(world) {
        assert_eq!(escalations(world, "echo $((n % 2)) > a; git add a; git status > /dev/null; touch a"), 1);
    }

    fn the_tool_that_an_agent_reports_is_in_its_row_until_another_process_begins(world) {
        let used = r#"{"hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"cargo test"}}"#;
        let script = format!("{BINARY} watch event '{used}'; {BINARY} watch event '{{\"state\": \"idle\"}}'; read x");
        let watcher = Watcher::watch_script(&world.url, &["--no-examine"], &script);
        wait_for("a tool", || (world.of_agent("last_tool").as_deref() == Some("Bash(cargo test)")).then_some(()));
        wait_for("its next state", || (world.of_agent("agent_state").as_deref() == Some("idle")).then_some(()));
        assert_eq!(world.of_agent("last_tool").as_deref(), Some("Bash(cargo test)"));
        let ended = watcher.stop();

        let words = ["--database", &world.url, "--name", "agent", "--no-examine", "--", "sh", "-c", "read x"];
        let next = Watcher::at_home(Arc::clone(&ended.home), &words);
        wait_for("the next process", || world.of_agent("last_tool").is_none().then_some(()));
        next.stop();
    }
}

/// P18, negative control.
#[test]
fn git_itself_runs_what_a_configuration_names() {
    let home = tempfile::tempdir().expect("a directory");
    let script = SPINNER.split("WORK").next().expect("what comes before");
    let script = format!("{script} git config core.fsmonitor ./fsmonitor; git status");
    let ran = Command::new("sh").args(["-c", &script]).current_dir(home.path()).output().expect("a shell");
    assert!(ran.status.success() && home.path().join("ran").exists(), "{ran:?}");
}
