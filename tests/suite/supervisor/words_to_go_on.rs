//! An agent that nothing keeps from its task any more is told at once to go on, once.

use std::fs;
use std::thread;
use std::time::Duration;

use super::nudge_fence::{COMPOSER, READ, agent, agent_with};
use crate::support::wait::wait_for;
use crate::support::watcher::Watcher;
use crate::support::world::{On, World};

/// Reads messages at an idle composer, and answers each.
fn reads() -> String {
    format!("while {COMPOSER}; do {READ}; done")
}

#[track_caller]
fn is_told_once(world: &mut World, watcher: Watcher) {
    let got = || fs::read_to_string(watcher.file("got")).unwrap_or_default();
    wait_for("a message", || (!got().is_empty()).then_some(()));
    // In this time it would be told again.
    thread::sleep(Duration::from_secs(7));
    assert!(got().starts_with("(sweep) You seem to be stuck") && got().lines().count() == 1, "{}", got());
    assert_eq!(world.count("recoveries where action = 'continue' and requested_by = 'sweep watch'"), 1);
    assert_eq!(world.recovered("escalate"), 0);
    watcher.stop();
}

/// Its longest silence is ten minutes.
#[test]
fn an_agent_that_was_started_again_is_told_to_go_on() {
    let mut world = World::new(On::Sqlite);
    let crashes = "if [ ! -e started ]; then touch started; exit 3; fi";
    let script = format!("{crashes}; stty -echo -icanon; {}", reads());
    let watcher = agent_with(&["--set", "auto_relaunch=on"], &world, "claude", &script);
    is_told_once(&mut world, watcher);
}

#[test]
fn an_agent_whose_quota_is_filled_again_is_told_to_go_on_and_nobody_is_notified() {
    let mut world = World::new(On::Sqlite);
    let composer = COMPOSER.replace(r"\033[2J", r"\033[2J● Claude usage limit reached · resets in 4s\r\n\r\n");
    let script = format!("stty -echo -icanon; {composer}; {READ}; {}", reads());
    let watcher = agent(&world, "claude", &script);
    wait_for("a used-up quota", || (world.of_agent("agent_state").as_deref() == Some("exhausted")).then_some(()));
    is_told_once(&mut world, watcher);
}

/// The agent was started with its task.
#[test]
fn an_agent_that_goes_on_by_itself_is_told_nothing() {
    let mut world = World::new(On::Sqlite);
    let crashes = "if [ ! -e started ]; then touch started; exit 3; fi";
    let works = "printf '\\033[H\\033[2J✻ Pondering… (1s · esc to interrupt)'; touch works; sleep 1 < /dev/null";
    let watcher = agent_with(
        &["--set", "auto_relaunch=on"],
        &world,
        "claude",
        &format!("{crashes}; stty -echo -icanon; {works}; {}", reads()),
    );
    wait_for("work", || watcher.file("works").exists().then_some(()));
    thread::sleep(Duration::from_secs(8));
    assert_eq!(world.count("recoveries where requested_by = 'sweep watch'"), 0);
    assert!(!watcher.file("got").exists());
    watcher.stop();
}
