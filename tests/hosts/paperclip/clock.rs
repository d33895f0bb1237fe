//! The server dates the end of a run by its own clock, and its grace after a run holds by any clock.

use std::time::{Duration, Instant};

use crate::paperclip::api::Adapter;
use crate::paperclip::server::Server;
use crate::program::said_of;
use crate::{seconds, wait_for};

/// Within this time the server queues what follows a run, without looking for a wake of somebody else's.
const GRACE: Duration = seconds(15);

#[test]
fn a_server_whose_clock_is_behind_has_its_time_after_a_run_by_the_databases_clock() {
    let server = Server::start_a_minute_behind();
    server.migrate();
    let agent = server.make_agent("Ada", Adapter::Process);
    let issue = server.make_issue(&agent, "quit, quit, close");
    wait_for("its runs have ended", seconds(90), || {
        (server.played(&issue).len() == 2 && !server.has_live_run(&issue)).then_some(())
    });
    let ended = Instant::now();
    // The poll saw the end a moment late.
    while ended.elapsed() < GRACE - seconds(2) {
        let report = server.sweep_at_once("1s");
        let said = said_of(&report, &issue);
        let is_left = said.is_none_or(|said| said["outcome"] == "healthy");
        assert!(is_left, "{:?} after the end: {said:?}: {}", ended.elapsed(), server.story(&issue));
        if said.is_some() {
            let behind = report["clocks"]["host_behind_seconds"].as_f64().expect("a number");
            assert!((50.0..=60.0).contains(&behind), "{behind} s");
        }
    }
    // Meanwhile the server has queued a run, or sweep may have the agent go on.
    wait_for("it is done", seconds(90), || {
        server.sweep_at_once("1s");
        (server.status(&issue) == "done").then_some(())
    });
    assert_eq!(server.played(&issue).len(), 3, "{}", server.story(&issue));
}
