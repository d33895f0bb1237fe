//! SIGHUP.

use std::fs::write;

use rustix::process::Signal;

use crate::support::daemon::{Daemon, EACH_SECOND, NEVER};
use crate::support::program::{Program, sweep};
use crate::support::proxy::Proxy;
use crate::support::scratch::Scratch;
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

/// A daemon whose settings are in a file.
fn configured(url: &str, file: &tempfile::NamedTempFile) -> Program {
    let path = file.path().to_str().expect("a plain path");
    sweep(["daemon", "--config", path, "--database", url, "--http", "127.0.0.1:0"])
}

fn file(text: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().expect("a file");
    write(file.path(), text).expect("a file");
    file
}

#[test]
fn the_next_sweep_goes_by_what_the_file_says_now() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let file = file(&format!("SWEEP_SCHEDULE={EACH_SECOND}\nSWEEP_ORPHAN_GRACE=2h\nSWEEP_WEBHOOK_SECRET=hush\n"));
    let mut daemon = Daemon::start(configured(&world.url, &file));
    daemon.says_times(2, "sweep completed");
    assert_eq!(world.wakes_for(&issue), 0);

    write(file.path(), format!("SWEEP_SCHEDULE={EACH_SECOND}\nSWEEP_WEBHOOK_SECRET=hushhush\n")).expect("a file");
    daemon.signal(Signal::HUP);
    let line = daemon.says("the settings were read again: changed: ");
    assert!(line.ends_with("changed: SWEEP_ORPHAN_GRACE, SWEEP_WEBHOOK_SECRET"), "{line}");
    wait_for("a wake", || (world.wakes_for(&issue) == 1).then_some(()));

    write(file.path(), format!("SWEEP_SCHEDULE={NEVER}\nSWEEP_HTTP=127.0.0.1:1\n")).expect("a file");
    daemon.signal(Signal::HUP);
    daemon.says("schedule 0 0 29 2 * (UTC), next: ");
    daemon.signal(Signal::HUP);
    daemon.says("the settings were read again: nothing changed");
    wait_for("the last sweep is over", || (world.count("sweeps where finished_at is null") == 0).then_some(()));
    let sweeps = world.count("sweeps");
    std::thread::sleep(std::time::Duration::from_millis(2200));
    assert_eq!(world.count("sweeps"), sweeps);

    write(file.path(), format!("SWEEP_SCHEDULE={EACH_SECOND}\n")).expect("a file");
    daemon.signal(Signal::HUP);
    wait_for("a sweep", || (sweeps < world.count("sweeps")).then_some(()));
    daemon.ends_well();
    assert!(!daemon.log().join("\n").contains("hush"), "{:?}", daemon.log());
}

/// Its server takes the connection and says nothing: for ten seconds that is no outage.
#[test]
fn another_database_is_looked_at_at_once() {
    let (world, scratch, proxy) = (World::new(On::Postgres), Scratch::empty(), Proxy::start(None));
    proxy.freeze();
    let wrong = proxy.url(world.name(), "disable");
    let file = file(&format!("DATABASE_URL={wrong}\nSWEEP_SCHEDULE={NEVER}\nSWEEP_HTTP=127.0.0.1:0\n"));
    let path = file.path().to_str().expect("a plain path");
    let mut daemon = Daemon::start(sweep(["daemon", "--config", path]));
    assert_eq!(daemon.get("/readyz").0, 503);
    let moved_to = |url: &str, status| {
        write(file.path(), format!("DATABASE_URL={url}\nSWEEP_SCHEDULE={NEVER}\nSWEEP_HTTP=127.0.0.1:0\n"))
            .expect("a file");
        daemon.signal(Signal::HUP);
        daemon.answers("/readyz", status);
    };
    moved_to(&world.url, 200);
    moved_to(&scratch.url, 503);
    assert!(daemon.says("ERROR no sweep: ").contains("run `sweep migrate`"));
    moved_to(&world.url, 200);
    assert_eq!(daemon.count("the database is unavailable"), 0, "{:?}", daemon.log());
    daemon.ends_well();
}

#[test]
fn what_is_read_once_needs_a_restart_and_is_reported() {
    let world = World::new(On::Sqlite);
    let file = file("SWEEP_HTTP=127.0.0.1:0\n");
    let path = file.path().to_str().expect("a plain path");
    let daemon = Daemon::start(sweep(["daemon", "--config", path, "--database", &world.url]));
    daemon.answers("/readyz", 200);
    write(file.path(), "SWEEP_HTTP=off\nSWEEP_LOG=warn\n").expect("a file");
    daemon.signal(Signal::HUP);
    let line = daemon.says("WARN SWEEP_HTTP, SWEEP_LOG will change");
    assert!(line.ends_with("will change when the daemon is started again"), "{line}");
    daemon.answers("/readyz", 200);
}

#[test]
fn wrong_settings_are_refused_and_the_old_ones_stay() {
    let world = World::new(On::Sqlite);
    let file = file(&format!("SWEEP_SCHEDULE={EACH_SECOND}\n"));
    let mut daemon = Daemon::start(configured(&world.url, &file));
    daemon.says("sweep completed");
    for (n, text, expected) in [
        (1, "SWEEP_SCHEDULE=whenever\n", "SWEEP_SCHEDULE: “whenever”: expected a schedule such as"),
        (2, "SWEEP_SHCEDULE=@daily\n", "SWEEP_SHCEDULE: no such setting; did you mean SWEEP_SCHEDULE?"),
        (3, "no settings at all\n", "--config"),
    ] {
        write(file.path(), text).expect("a file");
        daemon.signal(Signal::HUP);
        let line = daemon.says_times(n, "ERROR the settings stay as they were: ");
        assert!(line.contains(expected), "{line}");
    }
    let swept = daemon.count("sweep completed");
    daemon.says_times(swept + 2, "sweep completed");
    daemon.ends_well();
    assert_eq!(daemon.count("read again"), 0);
}
