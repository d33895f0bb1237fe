//! The clock of the server: by it a run has ended, and by the database's clock sweep asks how long ago that was.

use rstest::rstest;

use super::run_ends::{after_a_run, sweep_at_once};
use crate::support::program::sweep_at;

/// The server writes when a run ended, and sweep compares that with the database's clock. A run is created by the
/// database's time, and begins later: how much earlier its server says, so much its clock is behind at least.
#[rstest]
#[case::before_its_true_end_is_long_enough_ago(13, "healthy")]
#[case::after_that(17, "continued")]
fn with_a_server_whose_clock_is_behind_the_time_that_it_needs_is_counted_by_the_databases(
    #[case] seconds: i64,
    #[case] outcome: &str,
) {
    let (mut world, issue, run) = after_a_run("process", "succeeded", 60 + seconds);
    world.set("heartbeat_runs", &run, "started_at = created_at - interval '60 seconds'");
    world.run("update agents set last_heartbeat_at = now()");
    let swept = sweep_at_once(&world);
    assert_eq!((swept.outcome(&issue), &swept.json["clocks"]["host_behind_seconds"]), (outcome, &60.0.into()));
    let warned =
        "The clock of the host's server is 1m behind the database's: after the end of a run sweep waits 1m longer";
    let out = sweep_at(&world.url, ["--dry-run"]).run().out;
    assert!(out.contains(warned), "{out}");
}

/// A clock that was put right the day before says nothing any more.
#[test]
fn how_far_behind_a_servers_clock_was_is_forgotten_after_a_day() {
    let (mut world, issue, run) = after_a_run("process", "succeeded", 60);
    let day = "interval '25 hours'";
    world.set("heartbeat_runs", &run, &format!("started_at = created_at - {day}"));
    assert_eq!(sweep_at_once(&world).outcome(&issue), "healthy");
    world.set("heartbeat_runs", &run, &format!("created_at = created_at - {day}"));
    assert_eq!(sweep_at_once(&world).outcome(&issue), "continued");
}

/// A row that a clock ahead of time has dated, and one with a meaningless date, change nothing for the agent's work or
/// for readers.
#[rstest]
#[case::the_day_after_tomorrow("now() + interval '2 days'")]
#[case::never("'infinity'")]
#[case::the_last_year_that_there_is("'9999-01-01'")]
fn a_run_of_the_future_says_nothing_of_the_servers_clock(#[case] created: &str) {
    let (mut world, issue, run) = after_a_run("process", "succeeded", 60);
    world.run(&format!(
        "insert into heartbeat_runs (company_id, agent_id, status, created_at, started_at, finished_at)
         select company_id, agent_id, 'failed', {created}, now(), now() from heartbeat_runs where id = '{run}'"
    ));
    world.attention();
    sweep_at(&world.url, ["status"]).run().done();
    assert_eq!(sweep_at_once(&world).outcome(&issue), "continued");
}

#[rstest]
#[case::hours("created_at - interval '5 hours'")]
#[case::all_time("'-infinity'")]
fn a_server_is_given_ten_minutes_more_at_most(#[case] started: &str) {
    let (mut world, issue, run) = after_a_run("process", "succeeded", 11 * 60);
    world.set("heartbeat_runs", &run, &format!("started_at = {started}"));
    assert_eq!(sweep_at_once(&world).outcome(&issue), "continued");
}
