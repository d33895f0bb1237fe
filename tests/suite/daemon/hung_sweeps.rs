//! A sweep that makes no progress: those who watch are notified, and it is over when it gets on.

use std::thread::sleep;
use std::time::Duration;

use crate::support::daemon::{Daemon, EACH_SECOND, Manager, daemon};
use crate::support::proxy::Proxy;
use crate::support::wait::wait_for;
use crate::support::world::{On, World};

const WATCHDOG: Duration = Duration::from_millis(800);

#[test]
fn a_sweep_that_hangs_is_reported_and_the_watchdog_is_not_fed_until_it_gets_on() {
    let (world, proxy, manager) = (World::new(On::Postgres), Proxy::start(None), Manager::new());
    let url = proxy.url(world.name(), "disable");
    let mut daemon = manager.start(daemon(&url, EACH_SECOND, ["--set", "statement_timeout=300ms"]), WATCHDOG);
    daemon.says("sweep completed");
    daemon.answers("/healthz", 200);

    proxy.freeze();
    let reported = daemon.answers("/healthz", 503);
    assert!(reported.starts_with("a sweep has made no progress for "), "{reported}");
    daemon.says("the sweep in hand has made no progress for 3s");
    assert_eq!(daemon.get("/readyz").0, 503);
    assert!(daemon.get("/metrics").1.contains("sweep_daemon_hung 1"));
    let fed = manager.count("WATCHDOG=1");
    sleep(WATCHDOG * 2);
    assert_eq!(manager.count("WATCHDOG=1"), fed, "it was fed although the sweep hangs");

    proxy.thaw();
    daemon.answers("/healthz", 200);
    daemon.says("the sweep that made no progress goes on");
    wait_for("the watchdog is fed again", || (fed < manager.count("WATCHDOG=1")).then_some(()));
    assert_eq!(daemon.count("has made no progress"), 1, "{:?}", daemon.log());
    assert!(daemon.get("/metrics").1.contains("sweep_daemon_hung 0"));
    daemon.ends_well();
}

/// What is long and gets on does not hang.
#[test]
fn a_long_sweep_that_gets_on_does_not_hang() {
    let mut world = World::new(On::Postgres);
    world.run("begin");
    for _ in 0..24 {
        let agent = world.agent("idle");
        world.orphan(&agent);
    }
    world.run("commit");
    // Each takes half a second: twelve seconds, and hung after nine.
    world.run(
        "create function slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return new; end $$;
         create trigger slow before insert on wakes for each row execute function slow()",
    );
    let arguments = ["--at-start", "on", "--set", "connections=1", "--set", "statement_timeout=900ms"];
    let daemon = Daemon::start(daemon(&world.url, crate::support::daemon::NEVER, arguments));
    daemon.says("sweep completed");
    assert_eq!(daemon.count("no progress"), 0, "{:?}", daemon.log());
    assert_eq!(world.count("wakes"), 24);
}
