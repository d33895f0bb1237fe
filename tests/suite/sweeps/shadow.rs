//! A kind in shadow is decided and reported, never written; one that is off is not looked at.

use sweep::conclusion::Conclusion;
use sweep::rules::{Guard, Kind};
use sweep::sweep::KindMode;
use sweep::sweep::Options;

use crate::support::program::sweep_at;
use crate::support::world::{On, World, on_each_database, on_each_host};

fn settings_with_modes(world: &World, modes: &[(Kind, KindMode)]) -> Options {
    Options { modes: modes.iter().copied().collect(), concludes_changed: true, ..world.options() }
}

const SHADOWED_ISSUES: (Kind, KindMode) = (Kind::Issue, KindMode::Shadow);
const SHADOWED_STEPS: (Kind, KindMode) = (Kind::Step, KindMode::Shadow);

on_each_host! {
    fn issues_in_shadow_are_decided_and_not_written(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..3);
        let dry = world.dry_run();

        let shadowed = world.sweep_as(&settings_with_modes(world, &[SHADOWED_ISSUES]));

        assert_eq!((shadowed.exit, world.written(), world.count("sweeps")), (Conclusion::Done, 0, 1));
        assert_eq!(
            (&shadowed.json["kinds"]["issues"]["mode"], shadowed.count("issues", "continued")),
            (&"shadow".into(), 3)
        );
        for issue in issues {
            let mut row = shadowed.subject(&issue).clone();
            assert_eq!(row["shadow"].take(), true);
            for field in ["finding", "decision", "reason", "attempt", "outcome"] {
                assert_eq!(row[field], dry.subject(&issue)[field], "{field}");
            }
            assert_eq!(dry.subject(&issue)["shadow"], false);
        }
        // The work stayed as it was: sweep finds it as new once it is on.
        assert_eq!(world.sweep().count("issues", "continued"), 3);
    }

    fn an_escalation_and_a_recovery_in_shadow_are_not_written_either(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..4);
        world.sweep();
        world.end_continuations("failed");
        world.set("issues", &issues[0], "status = 'done'");
        world.pass(10);
        let before = world.written();

        let shadowed = world.sweep_as(&settings_with_modes(world, &[SHADOWED_ISSUES]));

        assert_eq!((shadowed.count("issues", "escalated"), shadowed.count("issues", "recovered")), (3, 1));
        assert_eq!((world.written(), shadowed.exit), (before, Conclusion::Done));
        assert_eq!(world.count("recoveries where settled_at is not null"), 0);
        assert_eq!(world.status("issues", &issues[1]), "in_progress");
    }

    fn what_is_off_is_not_looked_at(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..3);

        let off = world.sweep_as(&settings_with_modes(world, &[(Kind::Issue, KindMode::Off)]));

        assert_eq!(
            (off.exit, off.count("issues", "scanned"), off.count("issues", "deferred")),
            (Conclusion::Done, 0, 0)
        );
        assert_eq!(off.json["kinds"]["issues"]["mode"], "off");
        assert_eq!(world.written(), 0);
    }

    fn the_guard_shows_in_shadow_and_does_not_alarm(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..25);

        let settings = Options { guard: Some(Guard::default()), ..settings_with_modes(world, &[SHADOWED_ISSUES]) };
        let swept = world.sweep_as(&settings);

        assert_eq!((swept.exit, &swept.json["kinds"]["issues"]["guard"]["stranded"]), (Conclusion::Done, &25.into()));
        assert_eq!(world.text("exit_code", "sweeps").as_deref(), Some("0"));
    }

    fn what_was_left_in_shadow_is_left(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..2);
        world.sweep_as(&settings_with_modes(world, &[SHADOWED_ISSUES]));
        let since = world.text("updated_at", &format!("issues where id = '{}'", issues[1]));
        assert_eq!(world.text("oldest_left_at", "sweeps"), since);
    }

    fn a_row_that_cannot_be_read_fails_nothing_in_shadow(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..2);
        world.set("issues", &issues[1], "updated_at = '1970-01-01T00:00:00.000Z'");

        let swept = world.sweep_as(&settings_with_modes(world, &[SHADOWED_ISSUES]));

        assert_eq!((swept.exit, swept.outcome(&issues[1])), (Conclusion::Done, "unreadable"));
        assert_eq!(world.count("failures"), 0);
    }
}

mod kinds {
    use super::*;

    on_each_database! {
        fn steps_in_shadow_beside_issues_that_are_on(world) {
            let agent = world.agent("idle");
            world.orphans(&agent, 0..3);
            let steps = world.stalled_steps(&agent, 100..103);
            world.stalled_step(None);

            let swept = world.sweep_as(&settings_with_modes(world, &[SHADOWED_STEPS]));

            assert_eq!((swept.count("issues", "continued"), swept.exit), (3, Conclusion::Changed));
            assert_eq!((swept.count("steps", "continued"), swept.count("steps", "escalated")), (3, 1));
            assert_eq!(world.count("recoveries where kind = 'step'"), 0);
            assert_eq!(world.count("plans where status = 'stalled'"), 0);
            assert_eq!(swept.subject(&steps[0])["shadow"], true);
        }

        fn what_is_in_shadow_takes_no_wake_and_nothing_from_the_limit(world) {
            let agent = world.agent("idle");
            world.orphans(&agent, 0..3);
            world.stalled_steps(&agent, 0..3);
            let settings =
                Options { limit: Some(3), wakes_per_agent_max: 3, ..settings_with_modes(world, &[SHADOWED_ISSUES]) };

            let swept = world.sweep_as(&settings);

            assert_eq!((swept.count("issues", "continued"), swept.count("steps", "continued")), (3, 3));
            assert_eq!((&swept.json["stopped_by"], swept.count("steps", "deferred")), (&serde_json::Value::Null, 0));
        }

        /// The limit is not reached when nothing was done.
        fn the_limit_of_what_is_in_shadow_stops_nothing(world) {
            let agent = world.agent("idle");
            world.orphans(&agent, 0..5);
            let settings = Options { limit: Some(2), ..settings_with_modes(world, &[SHADOWED_ISSUES, SHADOWED_STEPS]) };

            let swept = world.sweep_as(&settings);

            assert_eq!((swept.count("issues", "continued"), swept.count("issues", "deferred")), (2, 3));
            assert_eq!(swept.json["stopped_by"], serde_json::Value::Null);
        }

        fn both_in_shadow_write_nothing_but_the_sweeps_own_row(world) {
            let agent = world.agent("idle");
            world.orphans(&agent, 0..3);
            world.stalled_steps(&agent, 0..3);
            let dump = |world: &mut World| {
                ["issues", "plans", "plan_steps", "agents"].map(|table| {
                    let rows = if world.on == On::Sqlite {
                        "group_concat(updated_at || status)"
                    } else {
                        "string_agg(updated_at || status, ',')"
                    };
                    world.text(rows, &format!("(select * from {table} order by id) t"))
                })
            };
            let before = dump(world);

            let swept = world.sweep_as(&settings_with_modes(world, &[SHADOWED_ISSUES, SHADOWED_STEPS]));

            assert_eq!((swept.count("issues", "continued"), swept.count("steps", "continued")), (3, 3));
            assert_eq!((world.written(), world.count("activity"), world.count("sweeps")), (0, 0, 1));
            assert_eq!(dump(world), before);
        }
    }
}

/// Two transactions write: the one that opens the sweep's own row, and the one that closes it.
#[test]
fn nothing_in_shadow_is_assigned_a_transaction_id() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..30);
    world.stalled_steps(&agent, 0..30);
    let next = |world: &mut World| -> u64 {
        let id = world.text("pg_snapshot_xmax(pg_current_snapshot())", "(select 1) one").expect("an id");
        id.parse().expect("a number")
    };
    // Other tests use the same server, but the rows of this database are marked by those that wrote them.
    let newest = "greatest((select max(xmin::text::bigint) from issues), (select max(xmax::text::bigint) from issues),
                           (select max(xmax::text::bigint) from plans), (select max(xmax::text::bigint) from agents))";
    let before = next(&mut world);

    world.sweep_as(&settings_with_modes(&world, &[SHADOWED_ISSUES, SHADOWED_STEPS]));

    let marked: u64 = world.text(newest, "(select 1) one").expect("an id").parse().expect("a number");
    assert!(marked < before, "a row was locked or written by {marked}, after {before}");
    world.sweep();
    let marked: u64 = world.text(newest, "(select 1) one").expect("an id").parse().expect("a number");
    assert!(before <= marked, "the control: a sweep leaves its mark");
}

#[test]
fn the_table_and_the_settings_say_so() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..3);
    world.stalled_steps(&agent, 0..2);

    let both = sweep_at(
        &world.url,
        ["--only", "issues,steps", "--set", "issues=shadow", "--set", "steps=shadow", "--detailed-exitcode"],
    )
    .run()
    .done();
    let off = sweep_at(&world.url, []).env("SWEEP_ISSUES", "shadow").env("SWEEP_STEPS", "off").run().done();
    let flag_wins =
        sweep_at(&world.url, ["--set", "issues=off"]).env("SWEEP_ISSUES", "on").env("SWEEP_STEPS", "off").run().done();
    let one = sweep_at(&world.url, ["--set", "issues=shadow"]).run().done();
    assert!(one.out.contains("Swept 0 sessions and 2 steps (native)") && one.out.contains("\n2 continued\n"), "{one}");

    assert!(both.out.contains("In shadow: 3 issues, nothing is written. Would be: 3 continued"), "{both}");
    assert!(both.out.contains("(shadow) continued") && !both.out.contains("Nothing"), "{both}");
    assert!(off.out.contains("steps: off"), "{off}");
    assert!(flag_wins.out.contains("issues: off"), "{flag_wins}");
    sweep_at(&world.url, ["--set", "issues=dark"])
        .run()
        .refused(64, &["--set issues=dark: expected on, shadow or off"]);
    sweep_at(&world.url, [])
        .env("SWEEP_STEPS", "dark")
        .run()
        .refused(78, &["SWEEP_STEPS", "expected on, shadow or off"]);
    assert_eq!((world.count("recoveries where kind = 'issue'"), world.count("recoveries where kind = 'step'")), (0, 2));
}
