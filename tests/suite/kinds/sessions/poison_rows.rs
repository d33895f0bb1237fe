//! P8 for sessions: nothing that their rows hold stops a sweep.

use crate::support::poison::ABSURD_TIMES;
use crate::support::world::{On, World};

/// Sweeps a broken session beside a good one, and returns the outcome of the broken one.
fn beside_a_good_one(world: &mut World, assignment: &str) -> String {
    let (bad, good) = (world.session(None, None), world.session(None, None));
    world.set("sessions", &bad, assignment);

    let swept = world.sweep();

    assert_eq!(swept.outcome(&good), "continued", "{assignment}: {}", swept.json);
    assert_eq!(swept.count("sessions", "failed"), 0, "{assignment}: {}", swept.json);
    swept.outcome(&bad).to_owned()
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn absurd_times_in_postgres_are_reported_as_unreadable_or_left() {
    for time in ABSURD_TIMES {
        for column in ["last_activity_at", "last_progress_at", "started_at", "ended_at", "created_at"] {
            let mut world = World::new(On::Postgres);
            let outcome = beside_a_good_one(&mut world, &format!("{column} = '{time}'"));
            let harmless = ["unreadable", "healthy", "not examined"];
            // A beginning of long ago is later than no other time, and no rule asks for it.
            let is_long_ago = time.contains("BC") || time == "-infinity" || time == "0001-01-01";
            assert!(
                harmless.contains(&outcome.as_str()) || is_long_ago && outcome == "continued",
                "{column} {time}: {outcome}"
            );
        }
    }
}

/// A sign of progress in the future would keep the session active for ever.
#[test]
fn progress_in_the_future_is_examined_and_reported() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let session = world.session(None, None);
        let later = world.ago(-60 * 24 * 365);
        world.set("sessions", &session, &format!("last_progress_at = {later}"));
        let swept = world.sweep();
        assert_eq!(swept.outcome(&session), "healthy", "{on:?}: {}", swept.json);
        assert!(swept.json["clocks"]["future_seconds"].is_number(), "{on:?}: {}", swept.json);
    }
}

#[test]
fn rows_of_sqlite_that_are_broken_are_reported_as_unreadable_and_output_of_any_bytes_is_read() {
    let mut world = World::new(On::Sqlite);
    world.run("pragma ignore_check_constraints = on");
    for time in ["xxxx-xx-xxTxx:xx:xx.xxxZ", "2026-13-45T99:99:99.999Z", "0001-01-01T00:00:00.000Z"] {
        let outcome = beside_a_good_one(&mut world, &format!("last_activity_at = '{time}'"));
        assert!(
            ["unreadable", "healthy", "not examined", "continued"].contains(&outcome.as_str()),
            "{time}: {outcome}"
        );
    }
    assert_eq!(beside_a_good_one(&mut world, "tenant = cast(x'ff' as text)"), "unreadable");
    let bytes = "cast(x'ff00fe0a1b5b324a' as text)";
    for of_any_bytes in [
        &format!("recent_output = {bytes}, title = {bytes}, last_tool = {bytes}"),
        "recent_output = cast(zeroblob(100000) as text)",
    ] {
        assert_eq!(beside_a_good_one(&mut world, of_any_bytes), "continued");
    }
}

/// The supervisor of a session may write megabytes.
#[test]
fn output_without_an_end_is_judged_all_the_same() {
    let mut world = World::new(On::Postgres);
    assert_eq!(beside_a_good_one(&mut world, "recent_output = repeat('x', 8000000)"), "continued");
    assert_eq!(beside_a_good_one(&mut world, "recent_output = repeat(E'\\u2800\\r\\x1b[2J\\n', 500000)"), "continued");
}
