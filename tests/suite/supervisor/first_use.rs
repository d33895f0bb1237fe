//! The first use: one command, and nothing to set up.

use std::fs;

use tempfile::NamedTempFile;

use crate::support::program::sweep;
use crate::support::receiver::Receiver;
use crate::support::wait::wait_for;
use crate::support::watcher::{Watcher, path};
use crate::support::world::{On, World};

/// A file of settings that has a receiver notified.
fn notifying(receiver: &Receiver) -> NamedTempFile {
    let settings = NamedTempFile::new().expect("a file");
    let text = format!("SWEEP_SLACK_URL={}\nSWEEP_NOTIFY_PRIVATE=on\n", receiver.url());
    fs::write(settings.path(), text).expect("settings");
    settings
}

#[test]
fn the_first_watch_makes_its_database_and_needs_no_hyphens() {
    let home = tempfile::tempdir().expect("a home");
    let watch = |words: &[&str]| {
        let words = ["watch"].into_iter().chain(words.iter().copied());
        sweep(words).env("HOME", home.path()).env("PATH", path()).run()
    };
    let ran = watch(&["--name", "first", "echo", "--hello", "there"]);
    assert_eq!((ran.code, ran.out.trim_end()), (0, "--hello there"), "{ran}");
    assert!(home.path().join(".local/share/sweep/sweep.db").exists());
    let again = watch(&["--name", "first", "--silent-after", "90s", "true"]);
    assert_eq!(again.code, 0, "{again}");
    let named = watch(&["--database", "sqlite:///nonexistent/sweep.db", "true"]);
    assert_eq!(named.code, 78, "a path that was given is not made: {named}");
}

#[test]
fn a_watcher_delivers_its_own_alerts() {
    let mut world = World::new(On::Sqlite);
    let receiver = Receiver::new();
    let settings = notifying(&receiver);
    let file = settings.path().to_str().expect("a path");
    let watcher =
        Watcher::watch_script(&world.url, &["--set", "nudges_max=0", "--config", file], "echo working; sleep 1000");
    world.until_recovered("escalate");
    let request = wait_for("a message", || receiver.requests().into_iter().next());
    assert!(request.body.contains("agent needs a person"), "{request:?}");
    watcher.stop();
}

#[test]
fn a_crash_is_reported_before_the_watcher_ends() {
    let world = World::new(On::Sqlite);
    let receiver = Receiver::new();
    let settings = notifying(&receiver);
    let file = settings.path().to_str().expect("a path");
    let ended = Watcher::watch_script(&world.url, &["--config", file], "exit 3").end();
    assert_eq!((ended.code, receiver.requests().len()), (3, 1));
}

#[test]
fn a_crashed_agent_is_started_again_as_the_operator_says() {
    let mut world = World::new(On::Sqlite);
    let again = "sh -c 'echo \"continued $0\"; exit 0' 'with words'";
    let flags = ["--set", "auto_relaunch=on", "--relaunch-command", again];
    let ended = Watcher::watch_script(&world.url, &flags, "echo first; exit 3").end();
    assert_eq!(ended.code, 0, "{}", ended.text);
    assert!(ended.text.contains("continued with words"), "{}", ended.text);
    assert_eq!(world.of_agent("status").as_deref(), Some("terminated"));
}

#[test]
fn hooks_that_cannot_be_set_up_are_refused() {
    let world = World::new(On::Sqlite);
    let words = ["watch", "--database", &world.url, "--hooks", "true"];
    sweep(words).env("PATH", path()).run().refused(64, &["--hooks", "no agent whose hooks can be set up"]);
}
