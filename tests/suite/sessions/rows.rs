//! P7, P8: a dry run of sessions writes nothing; and whatever their rows hold stops nothing.

use sweep::rules::Id;

use crate::program::sweep_at;
use crate::world::{On, World, on_each_database};

on_each_database! {
    /// P7
    fn a_dry_run_decides_what_the_sweep_then_does_and_writes_nothing(world) {
        let agent = world.agent("idle");
        let sessions: Vec<Id> = (0..4).map(|_| world.session(Some(&agent), None)).collect();
        world.loops(&sessions[1]);
        world.ends(&sessions[2], "1");
        world.progresses(&sessions[3]);
        let state = |world: &mut World| (world.count("recoveries"), world.count("session_commands"), world.count("sweeps"));
        let before = state(world);

        let dry = world.dry_run();
        assert_eq!(state(world), before);
        let wet = world.sweep();

        for session in &sessions[..3] {
            for field in ["finding", "decision", "reason", "attempt", "attempts_max", "outcome"] {
                assert_eq!(dry.subject(session)[field], wet.subject(session)[field], "{field}");
            }
        }
        assert_eq!((wet.count("sessions", "continued"), wet.count("sessions", "escalated")), (2, 1));
    }

    fn a_plan_of_nudges_is_applied_as_it_is(world) {
        let (session, recovered) = (world.session(None, None), world.session(None, None));
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("plan.json").display().to_string();
        let dry = sweep_at(&world.url, ["--dry-run", "--output", "json"]).run().done();
        std::fs::write(&file, &dry.out).expect("a plan");
        world.progresses(&recovered);

        let applied = sweep_at(&world.url, ["--apply", &file, "--output", "json"]).run().done().json();

        let outcome = |id: &Id| {
            let rows = applied["subjects"].as_array().expect("subjects");
            rows.iter().find(|row| row["id"] == id.0).map(|row| row["outcome"].clone())
        };
        assert_eq!((outcome(&session), outcome(&recovered)), (Some("continued".into()), Some("changed".into())));
        assert_eq!((world.commands(&session, "nudge"), world.commands(&recovered, "nudge")), (1, 0));
    }

    fn a_session_is_named_by_what_people_call_it(world) {
        let (named, other) = (world.session(None, None), world.session(None, None));
        let name = world.text("identifier", &format!("sessions where id = '{named}'")).expect("a name");

        let ran = sweep_at(&world.url, ["--session", &name, "--output", "json"]).run().done();

        assert_eq!(ran.json()["subjects"][0]["id"], named.0.as_str());
        assert_eq!((world.commands(&named, "nudge"), world.commands(&other, "nudge")), (1, 0));
        sweep_at(&world.url, ["--session", "nobody"]).run().refused(64, &["there is no session nobody"]);
        sweep_at(&world.url, ["--sessions", "shadow"]).run().done();
        assert_eq!(world.commands(&other, "nudge"), 0, "in shadow nothing is written");
    }

    fn an_exempt_session_is_left_alone(world) {
        let session = world.session(None, None);
        let exempt = ["exempt", "add", "session", &session.0, "--reason", "it thinks"];
        crate::program::command_at(&world.url, exempt).run().done();

        let swept = world.sweep();

        assert_eq!((swept.outcome(&session), &swept.subject(&session)["reason"]), ("waiting", &"exempt: it thinks".into()));
    }
}

/// A broken session beside a good one; and what became of the broken one.
fn beside_a_good_one(world: &mut World, assignment: &str) -> String {
    let (bad, good) = (world.session(None, None), world.session(None, None));
    world.set("sessions", &bad, assignment);

    let swept = world.sweep();

    assert_eq!(swept.outcome(&good), "continued", "{assignment}: {}", swept.json);
    assert_eq!(swept.count("sessions", "failed"), 0, "{assignment}: {}", swept.json);
    swept.outcome(&bad).to_owned()
}

/// P8
#[test]
fn absurd_times_in_postgres_are_reported_as_unreadable_or_left() {
    for time in ["-infinity", "infinity", "0001-01-01", "4000-01-01 BC", "294276-12-31"] {
        for column in ["last_activity_at", "last_progress_at", "started_at", "ended_at", "created_at"] {
            let mut world = World::new(On::Postgres);
            let outcome = beside_a_good_one(&mut world, &format!("{column} = '{time}'"));
            let harmless = ["unreadable", "healthy", "not examined"];
            // A beginning of long ago is later than no other time, and asked by nothing.
            let is_long_ago = time.contains("BC") || time == "-infinity" || time == "0001-01-01";
            assert!(
                harmless.contains(&outcome.as_str()) || is_long_ago && outcome == "continued",
                "{column} {time}: {outcome}"
            );
        }
    }
}

/// Nobody can have shown it: it would be active for ever.
#[test]
fn progress_in_the_future_is_examined_and_told() {
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

/// P9: what is over costs nothing.
#[test]
fn sessions_that_ended_well_or_whose_issue_is_finished_are_not_examined() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "status = 'done'");
        let (well, finished) = (world.session(None, None), world.session(Some(&agent), Some(&issue)));
        world.ends(&well, "0");
        world.ends(&finished, "1");
        let swept = world.sweep();
        assert_eq!((swept.outcome(&well), swept.outcome(&finished)), ("not examined", "not examined"), "{on:?}");
    }
}

/// P8
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
