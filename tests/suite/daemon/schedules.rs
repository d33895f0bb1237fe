//! The daemon sweeps when it should.

use std::time::Duration;

use crate::support::daemon::{Daemon, EACH_SECOND, NEVER, daemon};
use crate::support::world::{On, World, on_each_host};

on_each_host! {
    fn it_sweeps_at_the_times_of_the_schedule_and_prints_nothing(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let url = world.url.clone();
        let mut daemon = Daemon::start(daemon(&url, EACH_SECOND, []));

        daemon.says_times(2, "sweep completed");

        assert_eq!(world.wakes_for(&issue), 1);
        daemon.says("schedule * * * * * * (UTC), next: 20");
        daemon.ends_well();
        assert!(2 <= world.count("sweeps where ended = 'completed'"));
        assert_eq!(world.count("sweeps where finished_at is null"), 0);
    }
}

#[test]
fn the_first_sweep_is_at_the_start_when_that_is_on() {
    let mut world = World::new(On::Sqlite);
    let url = world.url.clone();
    let (with, without) = (
        Daemon::start(daemon(&url, NEVER, ["--at-start", "on"])),
        Daemon::start(daemon(&url, NEVER, []).env("SWEEP_AT_START", "off")),
    );

    with.says("sweep completed");
    without.answers("/readyz", 200);
    std::thread::sleep(Duration::from_millis(300));

    assert_eq!(without.count("sweep completed"), 0);
    assert_eq!(world.count("sweeps"), 1);
}

#[test]
fn the_next_times_are_shown_in_the_schedules_zone() {
    let world = World::new(On::Sqlite);
    let daemon =
        Daemon::start(daemon(&world.url, "0 12 21 6 *", ["--timezone", "europe/berlin", "--set", "jitter=1m"]));
    let line = daemon.says("schedule 0 12 21 6 * (Europe/Berlin), next: ");
    assert_eq!(line.matches("-06-21 12:00:00 CEST").count(), 3, "{line}");
    assert!(line.ends_with(", each up to 1m later"), "{line}");
}

/// Far enough apart that the scheduler is asked to wait.
#[test]
fn each_sweep_begins_in_the_second_of_its_schedule_and_no_time_is_swept_twice() {
    let mut world = World::new(On::Postgres);
    let daemon = Daemon::start(daemon(&world.url, "*/4 * * * * *", []));
    daemon.says_times(3, "sweep completed");
    let seconds = "extract(epoch from started_at)";
    let times =
        format!("(select distinct floor({seconds}) as at from sweeps where floor({seconds})::int % 4 <= 1) as times");
    assert_eq!((world.count("sweeps"), world.count(&times)), (3, 3), "{:?}", daemon.log());
}

/// However long the jitter is, no sweep is as late as the next one.
#[test]
fn a_jitter_moves_sweeps_within_their_interval() {
    let mut world = World::new(On::Sqlite);
    let each_second = Daemon::start(daemon(&world.url, EACH_SECOND, ["--set", "jitter=1h"]));
    each_second.says_times(4, "sweep completed");

    let now = world.text("strftime('%s', 'now')", "(select 1)").expect("a time");
    let url = world.url.clone();
    let each_hour = Daemon::start(daemon(&url, "0 * * * *", ["--set", "jitter=365d"]));
    each_hour.answers("/readyz", 200);
    let metrics = each_hour.answers("/metrics", 200);
    let next = metrics.lines().find_map(|line| line.strip_prefix("sweep_daemon_next_sweep_timestamp_seconds "));
    let next = next.and_then(|at| at.parse::<f64>().ok()).expect("a time");
    let until_next = next - now.parse::<f64>().expect("seconds");
    assert!((0.0..2.0 * 3600.0 + 60.0).contains(&until_next), "the coming hour and less than one more: {until_next}");
}

#[test]
fn settings_are_those_of_any_sweep() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let url = world.url.clone();
    // An orphan for an hour only.
    let program = daemon(&url, EACH_SECOND, ["--set", "orphan_grace=2h"]);
    let daemon = Daemon::start(program);
    daemon.says("sweep completed");
    assert_eq!(world.wakes_for(&issue), 0);
}
