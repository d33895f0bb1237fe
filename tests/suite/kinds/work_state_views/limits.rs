//! The views read one row of limits, which each migration and each sweep of everything writes from the rules.

use sweep::store::Db;

use crate::support::program::{command_at, sweep_at};
use crate::support::world::{World, on_each_host};

/// The grace, a step's threshold and a wake's, in whole seconds.
fn limits(world: &mut World) -> String {
    let whole = |name: &str| format!("cast(cast({name} as bigint) as text)");
    let names = ["orphan_grace_seconds", "step_stalled_after_seconds", "wake_stuck_after_seconds"].map(whole);
    world.text(&names.join(" || ' ' || "), "policy").expect("one row")
}

fn sweep_with(world: &World, arguments: &[&str]) {
    sweep_at(&world.url, arguments.iter().copied()).env("SWEEP_WAKE_STUCK_AFTER", "90s").run();
}

fn is_refused(world: &mut World, statement: &str) -> bool {
    use diesel::connection::SimpleConnection;
    match &mut world.db {
        Db::Postgres(db) => db.batch_execute(statement).is_err(),
        Db::Sqlite(db) => db.batch_execute(statement).is_err(),
    }
}

on_each_host! {
    fn without_a_sweep_the_defaults_hold(world) {
        assert_eq!(limits(world), "120 1800 3600");
    }

    fn the_latest_sweep_of_everything_decides(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let state = format!("issue_work_state where subject_id = '{issue}'");
        assert_eq!(world.text("state", &state).as_deref(), Some("orphaned"));

        sweep_with(world, &["--set", "orphan_grace=10s", "--dry-run"]);
        assert_eq!(limits(world), "120 1800 3600", "a dry run writes nothing");
        sweep_with(world, &["--set", "orphan_grace=10s", "--issue", &issue.0]);
        sweep_with(world, &["--set", "orphan_grace=2h"]);
        assert_eq!(limits(world), "7200 1800 90");
        sweep_with(world, &["--set", "orphan_grace=10s", "--only", "issues"]);

        assert_eq!(limits(world), "7200 1800 90", "a sweep of a part decides nothing");
        let later = world.orphan(&agent);
        let state = format!("issue_work_state where subject_id = '{later}'");
        assert_eq!(world.text("state", &state).as_deref(), Some("active"));
    }

    fn migrating_writes_what_is_lost_and_leaves_the_limits_of_the_latest_sweep(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let state = format!("issue_work_state where subject_id = '{issue}'");
        sweep_with(world, &["--set", "orphan_grace=2h"]);
        for (loss, then) in [
            ("update policy set vocabulary = '{}', clock_ahead_max_seconds = 0", "7200 1800 90"),
            ("delete from policy", "120 1800 3600"),
        ] {
            world.run(loss);
            command_at(&world.url, ["status"])
                .run()
                .refused(69, &["the table policy has lost its row, or what it says of the rules", "`sweep migrate`"]);

            command_at(&world.url, ["migrate"]).run().done();

            assert_eq!(limits(world), then);
            assert!(world.text("state", &state).is_some());
            assert_eq!(world.count("policy where clock_ahead_max_seconds = 60"), 1);
        }
    }

    fn a_row_that_is_gone_comes_back_with_the_next_sweep_and_until_then_nothing_looks_well(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.issue_run(&issue, &agent, "running", 5);
        world.run("delete from policy");

        assert_eq!(world.count("issue_work_state where state is null"), 1);
        command_at(&world.url, ["status"])
            .run()
            .refused(69, &["the table policy has lost its row", "the next sweep of everything write it"]);

        sweep_with(world, &[]);
        assert_eq!(
            world.text("state", &format!("issue_work_state where subject_id = '{issue}'")).as_deref(),
            Some("active")
        );
    }

    fn there_is_one_row_and_it_holds_nothing_but_limits(world) {
        for statement in [
            "insert into policy select * from policy",
            "update policy set orphan_grace_seconds = -1",
            "update policy set orphan_grace_seconds = null",
            "update policy set wake_stuck_after_seconds = 1e300",
            "update policy set attempts_max = -1",
            "update policy set vocabulary = '[]'",
            "update policy set vocabulary = 'no document'",
        ] {
            assert!(is_refused(world, statement), "{statement}");
        }
        assert_eq!(limits(world), "120 1800 3600");
    }
}
