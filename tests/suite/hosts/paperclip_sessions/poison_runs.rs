//! Values that kill a scan: one poison run never stops the rest.

use sweep::rules::Id;

use super::fixture::{SIGNS, another_silent_run, with_a_silent_run};
use crate::support::poison::NAMELESS_JSON;
use crate::support::world::World;

const PAST: [&str; 3] = ["-infinity", "0001-01-01", "4000-01-01 BC"];
const FUTURE: [&str; 3] = ["infinity", "20000-01-01", "294276-12-31"];

/// A world with a good run, and one more for each change, made to it: `(world, runs, good)`.
fn beside_a_good_one(changes: &[String]) -> (World, Vec<Id>, Id) {
    let (mut world, issue, good) = with_a_silent_run();
    let agent = Id(world.text("id", "agents").expect("an agent"));
    let mut poisoned = |change: &String| {
        let run = world.silent_run(&agent, Some(&issue));
        world.set("heartbeat_runs", &run, change);
        run
    };
    let bad = changes.iter().map(&mut poisoned).collect();
    (world, bad, good)
}

/// One sweep finds this of each poison run, and the good one is not held up; the view of the boards is read as well.
#[track_caller]
fn is_found_beside_a_good_one(changes: &[String], expected: &str) -> (World, Vec<Id>) {
    let (mut world, bad, good) = beside_a_good_one(changes);
    let shown = world.count("sweep.session_work_state where detail is not null and since is not null");
    assert_eq!(usize::try_from(shown), Ok(1 + changes.len()), "{changes:?}");
    let swept = world.sweep();
    assert_eq!(swept.outcome(&good), "escalated", "{}", swept.json);
    assert_eq!(swept.count("sessions", "failed"), 0, "{}", swept.json);
    world.status_document();
    for (change, run) in changes.iter().zip(&bad) {
        assert_eq!(swept.outcome(run), expected, "{change}: {}", swept.json);
    }
    (world, bad)
}

fn each_sign_at(times: [&str; 3]) -> Vec<String> {
    SIGNS.iter().flat_map(|column| times.map(|time| format!("{column} = '{time}'"))).collect()
}

/// Long ago: another sign of life tells. Not yet: it would look alive for ever, and is reported by name.
#[test]
fn an_absurd_sign_of_life_keeps_no_run_out_of_sight() {
    is_found_beside_a_good_one(&each_sign_at(PAST), "escalated");
    is_found_beside_a_good_one(&each_sign_at(FUTURE), "unreadable");
}

/// Nobody knows when it began: that is reported by name.
#[test]
fn a_run_that_began_at_an_absurd_time_is_reported_as_unreadable() {
    let (mut world, bad) = is_found_beside_a_good_one(&PAST.map(|time| format!("created_at = '{time}'")), "unreadable");
    for (time, run) in PAST.iter().zip(&bad) {
        world.set("heartbeat_runs", run, &SIGNS.map(|column| format!("{column} = '{time}'")).join(", "));
    }
    let swept = world.sweep();
    assert_eq!(bad.iter().map(|run| swept.outcome(run)).collect::<Vec<_>>(), ["unreadable"; 3], "{}", swept.json);
}

#[test]
fn a_run_that_ended_at_an_absurd_time_is_handed_over_or_reported_as_unreadable() {
    let (mut world, _, _) = with_a_silent_run();
    let agent = Id(world.text("id", "agents").expect("an agent"));
    let ends: Vec<String> = PAST
        .into_iter()
        .chain(FUTURE)
        .flat_map(|time| ["finished_at", "updated_at"].map(|column| format!("{column} = '{time}'")))
        .collect();
    let runs: Vec<Id> = ends.iter().map(|_| another_silent_run(&mut world, &agent).1).collect();
    let swept = world.sweep();
    for (end, run) in ends.iter().zip(&runs) {
        assert_eq!(swept.outcome(run), "escalated");
        world.set("heartbeat_runs", run, &format!("status = 'failed', {end}"));
    }
    let swept = world.sweep();
    for (end, run) in ends.iter().zip(&runs) {
        let outcome = swept.outcome(run);
        assert!(["handed_over", "unreadable"].contains(&outcome), "{end}: {outcome}");
    }
}

#[test]
fn json_that_is_not_what_it_should_be_names_no_issue() {
    let half_right =
        ["{\"issueId\": \"\\n\"}", "{\"issueId\": \"%s\", \"wakeReason\": {}}", "{\"wakeReason\": \"\\u001b[2J\"}"];
    let all = NAMELESS_JSON.into_iter().chain(half_right);
    let contexts: Vec<String> = all.map(|json| format!("context_snapshot = '{json}'")).collect();
    let (mut world, _) = is_found_beside_a_good_one(&contexts, "escalated");
    assert_eq!(world.count("issue_comments"), 1, "that of the good one");
}

#[test]
fn a_run_without_a_context_names_no_issue() {
    let (mut world, _) = is_found_beside_a_good_one(&["context_snapshot = null".to_owned()], "escalated");
    assert_eq!(world.count("issue_comments"), 1, "that of the good one");
}

/// A clock that is ahead by a little is life; the report says by how much.
#[test]
fn a_sign_of_life_of_next_week_is_left_and_reported() {
    let (world, bad, good) = beside_a_good_one(&["last_output_at = now() + interval '7 days'".to_owned()]);
    let swept = world.sweep();
    assert_eq!((swept.outcome(&bad[0]), swept.outcome(&good)), ("healthy", "escalated"));
    assert!(swept.json["clocks"]["future_seconds"].as_f64() > Some(600_000.0), "{}", swept.json);
}
