//! What is served, and to whom.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::daemon::{Daemon, EACH_SECOND, Manager, NEVER, daemon};
use crate::support::program::sweep;
use crate::support::world::{On, World};

#[test]
fn it_answers_whether_it_is_well_and_ready_and_counts() {
    let world = World::new(On::Sqlite);
    let daemon = Daemon::start(daemon(&world.url, EACH_SECOND, []));
    assert_eq!(daemon.answers("/readyz", 200), "ok\n");
    assert_eq!(daemon.get("/healthz"), (200, "ok\n".to_owned()));
    daemon.says("sweep completed");
    let (status, metrics) = crate::support::wait::wait_for("a count", || {
        let (status, metrics) = daemon.get("/metrics");
        (!metrics.contains("sweep_daemon_sweeps_total{ended=\"completed\"} 0")).then_some((status, metrics))
    });
    assert_eq!(status, 200);
    for line in [
        "# TYPE sweep_daemon_sweeps_total counter",
        "sweep_build_info{version=",
        "sweep_last_success_timestamp_seconds ",
        "sweep_daemon_sweeps_total{ended=\"failed\"} 0",
        "sweep_daemon_sweeps_total{ended=\"interrupted\"} 0",
        "sweep_daemon_run_ends_total 0",
        "sweep_daemon_next_sweep_timestamp_seconds ",
        "sweep_daemon_database_up 1",
        "sweep_daemon_hung 0",
        "sweep_daemon_listening ",
    ] {
        assert!(metrics.lines().any(|found| found.starts_with(line)), "{line} is not in:\n{metrics}");
    }
    assert_eq!(daemon.get("/").0, 404);
}

/// An error may quote a row: it stands in the log, as text, and neither on a page nor in what the service manager
/// hears.
#[test]
fn what_an_error_of_the_database_says_is_on_no_page() {
    let mut world = World::new(On::Sqlite);
    world.run(
        "create trigger refuse before insert on sweeps
         begin select raise(abort, 'hunted\u{1b}[31m\u{202e}\n2026-01-01T00:00:00Z ERROR forged password=hunter2'); \
         end",
    );
    let manager = Manager::new();
    let daemon = manager.start(daemon(&world.url, EACH_SECOND, []), Duration::from_secs(60));
    let line = daemon.says("hunted");
    assert!(line.contains("hunted[31m 2026-01-01T00:00:00Z ERROR forged password=***"), "{line}");
    let pages = ["/readyz", "/healthz", "/metrics"].map(|page| daemon.get(page).1);
    assert_eq!((pages[0].as_str(), pages[1].as_str()), ("the database is unavailable\n", "ok\n"));
    let status = manager.hears("STATUS=waiting for the database");
    for said in pages.iter().chain([&status]) {
        assert!(!said.contains("hunted") && !said.contains("forged"), "{said}");
    }
    assert!(!daemon.log().iter().any(|line| line.starts_with("2026-01-01T00:00:00Z")), "{:?}", daemon.log());
}

#[test]
fn it_can_be_off() {
    let world = World::new(On::Sqlite);
    let daemon = Daemon::start(sweep(["daemon", "--database", &world.url, "--schedule", EACH_SECOND, "--http", "off"]));
    daemon.says("sweep completed");
    assert_eq!(daemon.count("HTTP"), 0);
}

#[test]
fn a_client_that_sends_too_much_or_nothing_holds_up_nobody() {
    let world = World::new(On::Sqlite);
    let daemon = Daemon::start(daemon(&world.url, NEVER, []));
    daemon.answers("/readyz", 200);
    let address = ("127.0.0.1", daemon.port());
    let _silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(address).expect("a connection")).collect();
    let mut flood = TcpStream::connect(address).expect("a connection");
    let header = format!("X-Much: {}\r\n", "much".repeat(64));
    let _ = flood.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n");
    for _ in 0..200 {
        let _ = flood.write_all(header.as_bytes());
    }
    let _ = flood.write_all(b"\r\n");
    let mut answer = String::new();
    let _ = flood.read_to_string(&mut answer);
    assert!(!answer.contains("200 OK"), "{answer}");
    assert_eq!(daemon.get("/healthz").0, 200);
}
