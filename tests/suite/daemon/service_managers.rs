//! What a service manager hears.

use std::time::Duration;

use rustix::process::Signal;

use crate::support::daemon::{Daemon, EACH_SECOND, Manager, NEVER, daemon};
use crate::support::program::sweep;
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

#[test]
fn it_reports_that_it_is_ready_what_it_does_that_it_lives_reloads_and_stops() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let url = world.url.clone();
    let manager = Manager::new();
    let mut daemon = manager.start(daemon(&url, NEVER, ["--at-start", "on"]), Duration::from_secs(2));

    let next = manager.hears("STATUS=next sweep at 20");
    assert!(next.ends_with("-02-29 00:00:00 UTC; last: 1 continued"), "{next}");
    wait_for("WATCHDOG", || (3 <= manager.count("WATCHDOG=1")).then_some(()));
    assert_eq!(manager.heard()[0], "READY=1");
    assert_eq!(manager.count("STATUS=sweeping"), 1);

    daemon.signal(Signal::HUP);
    let reloading = manager.hears("RELOADING=1\nMONOTONIC_USEC=");
    assert!(0 < reloading.rsplit('=').next().and_then(|time| time.parse::<u64>().ok()).expect("a time"));
    wait_for("READY again", || (manager.count("READY=1") == 2).then_some(()));

    daemon.ends_well();
    manager.hears("STOPPING=1");
    let heard = manager.heard();
    let place = |message: &str| heard.iter().position(|heard| heard.starts_with(message)).expect("a message");
    assert!(place("RELOADING") < place("STOPPING"), "{heard:?}");
    assert_eq!(heard.iter().filter(|heard| heard.starts_with("STOPPING")).count(), 1);
}

#[test]
fn a_reload_that_is_refused_is_in_its_status_until_one_is_accepted() {
    let world = World::new(On::Sqlite);
    let file = tempfile::NamedTempFile::new().expect("a file");
    let path = file.path().to_str().expect("a plain path");
    let manager = Manager::new();
    let program = sweep(["daemon", "--config", path, "--database", &world.url, "--schedule", NEVER, "--http", "off"]);
    let mut daemon = manager.start(program, Duration::from_secs(2));
    manager.hears("STATUS=next sweep at 20");

    std::fs::write(file.path(), "SWEEP_LIMIT=3\nSWEEP_DEADLINE=soon\n").expect("a file");
    daemon.signal(Signal::HUP);
    let place =
        format!("reload refused, the old settings hold: {path}, line 2: SWEEP_DEADLINE: “soon”: expected a duration");
    wait_for("the refusal", || manager.heard().iter().any(|heard| heard.contains(&place)).then_some(()));

    std::fs::write(file.path(), "SWEEP_DEADLINE=5m\n").expect("a file");
    daemon.signal(Signal::HUP);
    let is_status = |heard: &&String| heard.starts_with("STATUS=");
    let has_gone = || manager.heard().iter().rfind(is_status).is_some_and(|last| !last.contains("refused"));
    wait_for("its end", || has_gone().then_some(()));
    daemon.ends_well();
}

/// Other units wait for READY: it must not wait for a database.
#[test]
fn it_is_ready_and_lives_without_its_database() {
    let manager = Manager::new();
    let url = "postgres:///nowhere?host=/nonexistent";
    let mut daemon = manager.start(daemon(url, EACH_SECOND, []), Duration::from_secs(1));
    manager.hears("READY=1");
    manager.hears("STATUS=waiting for the database");
    wait_for("WATCHDOG", || (3 <= manager.count("WATCHDOG=1")).then_some(()));
    daemon.answers("/healthz", 200);
    assert_eq!(daemon.answers("/readyz", 503), "the database is unavailable\n");
    daemon.ends_well();
}

#[test]
fn a_manager_that_cannot_be_notified_is_logged_once_and_no_reason_to_end() {
    let world = World::new(On::Sqlite);
    let program = daemon(&world.url, EACH_SECOND, []).env("NOTIFY_SOCKET", "/nonexistent/notify");
    let mut daemon = Daemon::start(program);
    daemon.says_times(2, "sweep completed");
    daemon.ends_well();
    assert_eq!(daemon.count("WARN the service manager cannot be notified"), 1, "{:?}", daemon.log());
}
