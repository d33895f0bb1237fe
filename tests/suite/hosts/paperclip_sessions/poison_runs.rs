//! Values that kill a scan: one poison run never stops the rest.

use sweep::rules::Id;

use super::fixture::{SIGNS, with_a_silent_run};
use crate::support::poison::NAMELESS_JSON;
use crate::support::world::World;

const PAST: [&str; 3] = ["-infinity", "0001-01-01", "4000-01-01 BC"];
const FUTURE: [&str; 3] = ["infinity", "20000-01-01", "294276-12-31"];

/// Beside a good one, which costs it nothing; the view of the boards is read as well.
fn outcome_of(world: &mut World, poison: &str, bad: &Id, good: &Id) -> String {
    assert_eq!(world.count("sweep.session_work_state where detail is not null and since is not null"), 2, "{poison}");
    let swept = world.sweep();
    assert_eq!(swept.outcome(good), "escalated", "{poison}: {}", swept.json);
    assert_eq!(swept.count("sessions", "failed"), 0, "{poison}: {}", swept.json);
    world.status_document();
    swept.outcome(bad).to_owned()
}

fn beside_a_good_one() -> (World, Id, Id) {
    let (mut world, issue, good) = with_a_silent_run();
    let agent = Id(world.text("id", "agents").expect("an agent"));
    let bad = world.silent_run(&agent, Some(&issue));
    (world, bad, good)
}

/// Long ago: another sign of life tells. Not yet: it would look alive for ever, and is reported by name.
#[test]
fn an_absurd_sign_of_life_keeps_no_run_out_of_sight() {
    for column in SIGNS {
        let (mut world, bad, good) = beside_a_good_one();
        for time in PAST {
            world.set("heartbeat_runs", &bad, &format!("{column} = '{time}'"));
            world.run("delete from sweep.recoveries");
            assert_eq!(outcome_of(&mut world, time, &bad, &good), "escalated", "{column} {time}");
        }
        for time in FUTURE {
            world.set("heartbeat_runs", &bad, &format!("{column} = '{time}'"));
            world.run("delete from sweep.recoveries; delete from sweep.failures");
            assert_eq!(outcome_of(&mut world, time, &bad, &good), "unreadable", "{column} {time}");
        }
    }
}

/// Nobody knows when it began: that is reported by name.
#[test]
fn a_run_that_began_at_an_absurd_time_is_reported_as_unreadable() {
    for time in PAST {
        let (mut world, bad, good) = beside_a_good_one();
        world.set("heartbeat_runs", &bad, &format!("created_at = '{time}'"));
        assert_eq!(outcome_of(&mut world, time, &bad, &good), "unreadable", "{time}");
        let columns = SIGNS.map(|column| format!("{column} = '{time}'")).join(", ");
        world.set("heartbeat_runs", &bad, &columns);
        assert_eq!(world.sweep().outcome(&bad), "unreadable", "{time}");
    }
}

#[test]
fn a_run_that_ended_at_an_absurd_time_is_handed_over_or_reported_as_unreadable() {
    for time in PAST.into_iter().chain(FUTURE) {
        for column in ["finished_at", "updated_at"] {
            let (mut world, _, run) = with_a_silent_run();
            world.sweep();
            world.set("heartbeat_runs", &run, &format!("status = 'failed', {column} = '{time}'"));
            let outcome = world.sweep().outcome(&run).to_owned();
            assert!(["handed_over", "unreadable"].contains(&outcome.as_str()), "{column} {time}: {outcome}");
        }
    }
}

#[test]
fn json_that_is_not_what_it_should_be_names_no_issue() {
    let half_right =
        ["{\"issueId\": \"\\n\"}", "{\"issueId\": \"%s\", \"wakeReason\": {}}", "{\"wakeReason\": \"\\u001b[2J\"}"];
    for json in NAMELESS_JSON.into_iter().chain(half_right) {
        let (mut world, bad, good) = beside_a_good_one();
        world.set("heartbeat_runs", &bad, &format!("context_snapshot = '{json}'"));
        assert_eq!(outcome_of(&mut world, json, &bad, &good), "escalated", "{json}");
        assert_eq!(world.count("issue_comments"), 1, "{json}: that of the good one");
    }
}

#[test]
fn a_run_without_a_context_names_no_issue() {
    let (mut world, bad, good) = beside_a_good_one();
    world.set("heartbeat_runs", &bad, "context_snapshot = null");
    assert_eq!(outcome_of(&mut world, "null", &bad, &good), "escalated");
}

/// A clock that is ahead by a little is life; the report says by how much.
#[test]
fn a_sign_of_life_of_next_week_is_left_and_reported() {
    let (mut world, bad, good) = beside_a_good_one();
    let next_week = world.ago(-7 * 24 * 60);
    world.set("heartbeat_runs", &bad, &format!("last_output_at = {next_week}"));
    let swept = world.sweep();
    assert_eq!((swept.outcome(&bad), swept.outcome(&good)), ("healthy", "escalated"));
    assert!(swept.json["clocks"]["future_seconds"].as_f64() > Some(600_000.0), "{}", swept.json);
}
