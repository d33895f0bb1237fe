//! Which program has the screen, and whose work counts, where an agent is started by other programs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use super::nudge_fence::{COMPOSER, READ};
use crate::support::program::command_at;
use crate::support::wait::wait_for;
use crate::support::watcher::{AS_USUAL, Watcher};
use crate::support::world::{On, World};

/// A third of the time is more than the tenth that counts as work, and leaves some to the other tests.
const COMPUTES: &str = "while :; do n=0; while [ $n -lt 30000 ]; do n=$((n + 1)); done; sleep 0.05; done";

/// Longer than the time between two looks at what children do.
const LONG: &str = "16s";

/// A home with a program of this name that runs a script.
fn home_with(program: &str, script: &str) -> Arc<TempDir> {
    let home = tempfile::tempdir().expect("a home");
    let path = home.path().join(program);
    fs::write(&path, format!("#!/bin/bash\n{script}\n")).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    Arc::new(home)
}

fn watch(world: &World, home: &Arc<TempDir>, flags: &[&str], command: &[&str]) -> Watcher {
    let base = ["--database", &world.url, "--name", "agent"];
    Watcher::at_home(Arc::clone(home), &[&base[..], flags, &["--"], command].concat())
}

/// Why people are notified of what is watched.
fn escalation(silent_after: &str, flags: &[&str], home: &Arc<TempDir>, command: &[&str]) -> Option<String> {
    let mut world = World::new(On::Sqlite);
    let thresholds = [
        "--set",
        &format!("session_silent_after={silent_after}"),
        "--set",
        &format!("session_no_progress_after={LONG}"),
    ];
    let watcher = watch(&world, home, &[&thresholds[..], flags].concat(), command);
    world.until_recovered("escalate");
    watcher.stop();
    world.text("reason", "recoveries where action = 'escalate'")
}

#[test]
fn an_agent_is_known_through_what_has_started_it() {
    for command in [
        &["timeout", "60", "./claude"][..],
        &["sh", "-c", "./claude; true"],
        &["script", "-qc", "./claude", "/dev/null"],
        &["env", "A=b", "nice", "timeout", "60", "sh", "-c", "./claude; true"],
        // Beside the agent it starts a daemon, which keeps the terminal as its stdin.
        &["bash", "-c", "exec -a dbus-run-session bash -c 'sleep 60 < /dev/tty & ./claude; true'"],
    ] {
        let mut world = World::new(On::Sqlite);
        let home = home_with("claude", &format!("stty -echo -icanon; {COMPOSER}; {READ}; cat"));
        let watcher = watch(&world, &home, &["--set", "session_silent_after=10m", AS_USUAL], command);
        wait_for(&command.join(" "), || (world.count("sessions where takes_nudges") == 1).then_some(()));
        let explained = command_at(&world.url, ["explain", "session", "agent"]).run().done();
        assert!(explained.out.contains("rule Claude Code/"), "{explained}");
        world.queue("nudge", "go on");
        let got = || fs::read_to_string(watcher.file("got")).ok().filter(|got| !got.is_empty());
        assert_eq!(wait_for("the message", got), "(sweep) go on\n");
        watcher.stop();
    }
}

/// Behind `script` is another terminal, with a mode of its own.
#[test]
fn a_password_and_a_shell_behind_another_program_are_not_typed_into() {
    for (inner, says) in
        [("stty -echo; printf '> '; read x; cat", "nobody may see"), ("PS1='> ' exec bash --norc -i", "is a shell")]
    {
        let mut world = World::new(On::Sqlite);
        let home = home_with("inner", inner);
        let flags = ["--set", "session_silent_after=10m", "--nudge=idle"];
        let watcher = watch(&world, &home, &flags, &["env", "PS1=> ", "script", "-qc", "./inner", "/dev/null"]);
        watcher.until_it_prints("> ");
        world.queue("nudge", "touch got");
        wait_for("a refusal", || (world.agents_commands("status = 'failed'") == 1).then_some(()));
        let ended = watcher.stop();
        assert!(ended.text.contains(says), "{}", ended.text);
    }
}

#[test]
fn a_child_that_only_sleeps_is_no_progress() {
    let home = home_with("works", "sleep 100 & while :; do printf '\\r|'; sleep 0.1; printf '\\r/'; sleep 0.1; done");
    assert_eq!(escalation("10m", &[], &home, &["./works"]).as_deref(), Some("it moves, and does nothing new"));
}

#[test]
fn what_an_agent_and_its_further_processes_compute_themselves_is_no_progress() {
    let computes = format!("[ \"$1\" ] || ./codex again & printf working; {COMPUTES}");
    let home = home_with("codex", &computes);
    let reason = escalation(LONG, &[], &home, &["timeout", "100", "./codex"]);
    assert_eq!(reason.as_deref(), Some("nothing is typed into it, since it is not known to be idle at its prompt"));
}

/// It runs on when the agent that has started it ends, and works for the next one.
#[test]
fn what_an_agents_server_computes_in_the_agents_directory_is_progress() {
    let script =
        format!("[ \"$1\" ] || {{ printf working; sleep 19; exit 0; }}; (cd $2; exec sh -c '{COMPUTES}'); true");
    for (directory, escalations) in [(".", 0), ("/", 1)] {
        let home = home_with("codex", &script);
        let path = home.path().join("codex");
        // Linux may share the processor out among sessions: in the one of the tests the server would get too little.
        let mut command = Command::new("setsid");
        command.arg(path).args(["app-server", directory]).current_dir(home.path());
        let mut server = command.spawn().expect("a server");
        let mut world = World::new(On::Sqlite);
        let thresholds =
            ["--set", &format!("session_silent_after={LONG}"), "--set", &format!("session_no_progress_after={LONG}")];
        watch(&world, &home, &thresholds, &["sh", "-c", "./codex; true"]).end();
        kill_process_group(Pid::from_child(&server), Signal::KILL).expect("a server");
        server.wait().expect("an end");
        assert_eq!(world.recovered("escalate"), escalations, "{directory}");
    }
}

#[test]
fn an_agent_that_repeats_itself_is_found_although_children_compute() {
    let home =
        home_with("works", &format!("({COMPUTES}) & while :; do echo 'Error: connection refused'; sleep 0.05; done"));
    let reason = escalation(LONG, &[], &home, &["./works"]);
    assert_eq!(reason.as_deref(), Some("nothing is typed into it, since it is not known to be idle at its prompt"));
}

#[test]
fn children_that_compute_without_end_are_found() {
    let home = home_with("works", &format!("({COMPUTES}) & wait"));
    let reason = escalation("10m", &["--set", "run_silent_after=1s"], &home, &["./works"]);
    assert_eq!(reason.as_deref(), Some("it moves, and does nothing new"));
}

#[test]
fn that_an_agent_behind_another_machine_is_not_known_is_said() {
    let world = World::new(On::Sqlite);
    let ended = watch(&world, &home_with("ssh", "echo hello"), &[], &["./ssh", "elsewhere", "claude"]).end();
    assert!(ended.text.contains("sweep: which agent runs behind ssh is not seen"), "{}", ended.text);
}
