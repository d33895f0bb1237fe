//! Commands about sessions: a dry run, a plan, a name, an exemption.

use sweep::rules::Id;

use crate::support::program::{command_at, sweep_at};
use crate::support::world::{World, on_each_database};

on_each_database! {
    /// P7
    fn a_dry_run_decides_what_the_sweep_then_does_and_writes_nothing(world) {
        let agent = world.agent("idle");
        let sessions: Vec<Id> = (0..4).map(|_| world.session(Some(&agent), None)).collect();
        world.loops(&sessions[1]);
        world.ends(&sessions[2], "1");
        world.progresses(&sessions[3]);
        let state =
            |world: &mut World| (world.count("recoveries"), world.count("session_commands"), world.count("sweeps"));
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
        sweep_at(&world.url, ["--set", "sessions=shadow"]).run().done();
        assert_eq!(world.commands(&other, "nudge"), 0, "in shadow nothing is written");
    }

    fn an_exempt_session_is_left_alone(world) {
        let session = world.session(None, None);
        let exempt = ["exempt", "add", "session", &session.0, "--reason", "it thinks"];
        command_at(&world.url, exempt).run().done();

        let swept = world.sweep();

        assert_eq!(
            (swept.outcome(&session), &swept.subject(&session)["reason"]),
            ("waiting", &"exempt: it thinks".into())
        );
    }
}
