//! A database that goes away and returns.

use std::thread::sleep;
use std::time::Duration;

use crate::support::daemon::{Daemon, EACH_SECOND, NEVER, daemon};
use crate::support::program::{migrate_at, sweep_at};
use crate::support::server::Server;
use crate::support::world::{On, World};

#[test]
fn a_database_that_goes_away_is_waited_for_and_reported_once_and_once_when_it_is_back() {
    let server = Server::start();
    migrate_at(&server.url, []).run().done();
    let mut daemon = Daemon::start(daemon(&server.url, EACH_SECOND, []));
    daemon.says("sweep completed");
    daemon.answers("/readyz", 200);

    server.crash();
    daemon.says("ERROR the database is unavailable, waiting: ");
    assert_eq!(daemon.answers("/readyz", 503), "the database is unavailable\n");
    assert!(daemon.get("/metrics").1.contains("sweep_daemon_database_up 0"));
    daemon.answers("/healthz", 200);
    let before = daemon.log().len();
    // A daemon that begins now finds no database at its start.
    let late = Daemon::start(self::daemon(&server.url, NEVER, []));
    late.says("the database is unavailable, waiting: ");
    assert_eq!(late.get("/readyz").0, 503);
    // Sweeps would be due, and it is asked, more than once.
    sleep(Duration::from_secs(4));
    assert_eq!(daemon.log().len(), before, "{:?}", daemon.log());

    server.restart();
    let back = daemon.says(" INFO the database is back after ");
    assert!(back.ends_with(" tries"), "{back}");
    late.says("the database is back after ");
    late.says("sweep completed");
    daemon.answers("/readyz", 200);
    assert!(daemon.get("/metrics").1.contains("sweep_daemon_database_up 1"));
    daemon.ends_well();
    assert_eq!(daemon.count("the database is unavailable"), 1, "{:?}", daemon.log());
    assert_eq!(daemon.count("the database is back"), 1);
    // The one that swept when it was back made up for all that were due meanwhile.
    assert_eq!(daemon.count("due meanwhile"), 0, "{:?}", daemon.log());
}

/// Upgraded under its feet: it says so once, and goes on when it is in order.
#[test]
fn a_schema_that_changes_later_is_reported_once_and_the_next_sweep_tries_again() {
    let mut world = World::new(On::Postgres);
    let mut daemon = Daemon::start(daemon(&world.url, EACH_SECOND, []));
    daemon.says("sweep completed");

    world.run("alter table sweep.__diesel_schema_migrations rename to elsewhere");
    let line = daemon.says("ERROR no sweep: ");
    assert!(line.contains("sweep migrate"), "{line}");
    let why = daemon.answers("/readyz", 503);
    assert!(why.contains("cannot be swept; the log says why"), "{why}");
    let failed = |daemon: &Daemon| {
        let metrics = daemon.get("/metrics").1;
        let line = metrics.lines().find_map(|line| line.strip_prefix("sweep_daemon_sweeps_total{ended=\"failed\"} "));
        line.and_then(|count| count.parse::<u32>().ok()).expect("a count")
    };
    crate::support::wait::wait_for("two more fail", || (3 <= failed(&daemon)).then_some(()));
    assert_eq!(daemon.count("ERROR"), 1, "{:?}", daemon.log());

    world.run("alter table sweep.elsewhere rename to __diesel_schema_migrations");
    daemon.answers("/readyz", 200);
    daemon.ends_well();
}

/// As during the recovery after a crash: it is there, and lets nobody in.
#[test]
fn a_server_that_accepts_no_connections_yet_is_waited_for_from_the_start() {
    let primary = Server::start();
    migrate_at(&primary.url, []).run().done();
    let closed = primary.standby_with(&["-c", "hot_standby=off"]);
    let says = ["cannot reach PostgreSQL", "not accepting connections"];
    sweep_at(&closed.url, []).run().refused(69, &says);

    let mut daemon = Daemon::start(daemon(&closed.url, NEVER, []));
    daemon.says("the database is unavailable, waiting: ");
    closed.promote();
    daemon.says("the database is back after ");
    daemon.ends_well();
}
