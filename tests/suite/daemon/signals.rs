//! SIGTERM and Ctrl-C.

use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;

use crate::support::daemon::{Daemon, NEVER, daemon};
use crate::support::proxy::Proxy;
use crate::support::world::{On, World};

const ORPHANS: i64 = 2000;

fn world_with_orphans() -> World {
    let mut world = World::new(On::Postgres);
    world.run(&format!(
        "with agent as (insert into agents (id, name, status) values (gen_random_uuid(), 'Ada', 'idle') returning id)
         insert into issues (id, identifier, title, status, assignee_agent_id, started_at, created_at, updated_at)
         select gen_random_uuid(), 'T-' || n, 'Mend', 'in_progress', id, moment, moment, moment
         from agent, generate_series(1, {ORPHANS}) n, (select now() - interval '1 hour') as t (moment)"
    ));
    world
}

/// In the middle of a sweep of many orphans, which has come to a stop.
fn in_mid_sweep(world: &World, proxy: &Proxy) -> Daemon {
    let url = proxy.url(world.name(), "disable");
    let daemon = Daemon::start(daemon(&url, NEVER, ["--at-start", "on"]));
    daemon.says_times(20, " continued: ");
    proxy.freeze();
    daemon
}

fn ends_after_what_is_in_hand(signal: Signal) {
    let (mut world, proxy) = (world_with_orphans(), Proxy::start(None));
    let mut daemon = in_mid_sweep(&world, &proxy);

    daemon.signal(signal);
    daemon.says("told to end: waiting for what is in hand");
    assert!(daemon.answers("/readyz", 503).contains("stopping"));
    // Too late for other settings.
    daemon.signal(Signal::HUP);
    sleep(Duration::from_millis(200));
    assert!(daemon.runs(), "{:?}", daemon.log());
    proxy.thaw();

    assert_eq!(daemon.ended().0, 0, "{:?}", daemon.log());
    daemon.says("sweep interrupted");
    assert_eq!(daemon.count("read again"), 0);
    let continued = world.count("recoveries");
    assert!((20..ORPHANS).contains(&continued), "{continued}");
    assert_eq!(world.count("wakes"), continued, "half done");
    assert_eq!(world.count("sweeps where ended = 'interrupted' and finished_at is not null"), 1);
    assert_eq!(world.count("sweeps"), 1);
}

#[test]
fn sigterm_ends_it_after_what_the_sweep_has_in_hand() {
    ends_after_what_is_in_hand(Signal::TERM);
}

#[test]
fn ctrl_c_ends_it_after_what_the_sweep_has_in_hand() {
    ends_after_what_is_in_hand(Signal::INT);
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (mut world, proxy) = (world_with_orphans(), Proxy::start(None));
    let mut daemon = in_mid_sweep(&world, &proxy);
    daemon.signal(Signal::TERM);
    daemon.says("told to end: waiting for what is in hand");
    daemon.signal(Signal::TERM);
    assert_eq!(daemon.ended().0, 143);
    // Nothing is half done, and the sweep's row is still open: nobody could close it.
    assert_eq!(world.count("recoveries"), world.count("wakes"));
    assert_eq!(world.count("sweeps where finished_at is null"), 1);
}

/// Its server keeps the connection and says nothing: for ten seconds that is no outage.
#[test]
fn a_look_at_the_database_is_not_waited_for() {
    let (world, proxy) = (World::new(On::Postgres), Proxy::start(None));
    proxy.freeze();
    let mut daemon = Daemon::start(daemon(&proxy.url(world.name(), "disable"), NEVER, []));
    daemon.answers("/readyz", 503);
    daemon.ends_well();
    assert_eq!(daemon.count("the database is unavailable"), 0);
}

#[test]
fn without_a_sweep_in_hand_it_ends_at_once() {
    let world = World::new(On::Sqlite);
    for signal in [Signal::TERM, Signal::INT] {
        let mut daemon = Daemon::start(daemon(&world.url, NEVER, []));
        daemon.answers("/readyz", 200);
        daemon.signal(signal);
        assert_eq!(daemon.ended(), (0, String::new()));
    }
}
