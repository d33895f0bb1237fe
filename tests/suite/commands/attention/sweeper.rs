//! Whether somebody sweeps, and what the guard holds back.

use serde_json::Value;

use crate::support::world::{World, on_each_host};

/// Sweeps of everything that began so many minutes ago and ended so.
fn swept(world: &mut World, sweeps: &[(i64, i32)]) -> Value {
    world.run("delete from sweeps");
    for (minutes, code) in sweeps {
        world.swept(*minutes - 1, (0, 1), "exit_code, succeeded", &format!("{code}, {}", *code == 0));
    }
    world.attention()["sweeper"].clone()
}

on_each_host! {
    fn a_sweeper_is_well_as_long_as_it_keeps_its_own_interval_and_does_all_it_has_to(world) {
        for (sweeps, state, interval) in [
            (vec![], "never", None),
            (vec![(5, 1)], "never", None),
            (vec![(5, 0)], "well", None),
            (vec![(1430, 0)], "well", None),
            (vec![(1450, 0)], "late", None),
            (vec![(5, 1), (15, 0)], "failing", Some(600)),
            (vec![(5, 4), (15, 0)], "failing", Some(600)),
            (vec![(5, 0), (15, 1), (25, 0)], "well", Some(600)),
            (vec![(30, 0), (40, 0), (50, 0)], "well", Some(600)),
            (vec![(33, 0), (43, 0), (53, 0)], "late", Some(600)),
            (vec![(100, 0), (1540, 0), (2980, 0)], "well", Some(86_400)),
        ] {
            let shown = swept(world, &sweeps);

            assert_eq!(shown["state"], state, "{sweeps:?}: {shown}");
            let about = shown["interval_seconds"].as_i64().map(|seconds| (seconds + 30) / 60 * 60);
            assert_eq!(about, interval, "{sweeps:?}");
            assert_eq!(shown["next_sweep_at"].is_null(), interval.is_none(), "{sweeps:?}");
        }
    }

    fn sweeps_that_begin_and_never_succeed_are_failing_however_punctual_they_are(world) {
        for (columns, values) in [
            ("exit_code, succeeded", "0, false"),
            ("exit_code, succeeded, partial", "0, false, true"),
        ] {
            world.run("delete from sweeps");
            world.swept(60 * 24 * 3, (0, 1), "exit_code, succeeded", "0, true");
            for number in 0..12 {
                world.swept(5 * number, (0, 1), columns, values);
            }
            assert_eq!(world.attention()["sweeper"]["state"], "failing", "{columns}");
            world.run("update sweeps set finished_at = null, ended = null, exit_code = null where not succeeded");

            let shown = world.attention()["sweeper"].clone();

            assert_eq!(shown["state"], "failing", "killed: {shown}");
            let summary = shown["summary"].as_str().expect("a summary");
            assert!(summary.starts_with("Sweeps begin, but none") && summary.contains("3d ago"), "{summary}");
        }
    }

    fn a_sweep_of_which_one_shard_is_missing_is_failing(world) {
        for number in 0..12 {
            world.swept(5 * number, (0, 2), "exit_code, succeeded", "0, true");
        }
        world.swept(60 * 24 * 3, (1, 2), "exit_code, succeeded", "0, true");
        assert_eq!(world.attention()["sweeper"]["state"], "failing");
        world.swept(5, (1, 2), "exit_code, succeeded", "0, true");
        assert_eq!(world.attention()["sweeper"]["state"], "well");
    }

    fn what_the_guard_held_back_needs_a_person_until_a_sweep_lets_it_through(world) {
        let agent = world.agent("idle");
        for _ in 0..30 {
            world.orphan(&agent);
        }
        world.sweep_guarded();

        let shown = world.attention();

        let sweeper = &shown["sweeper"];
        assert_eq!((&sweeper["state"], &sweeper["guard"][0]["kind"]), (&"never".into(), &"issue".into()));
        assert_eq!(shown["items"][0]["what"], "held_back");
        let why = shown["items"][0]["why"].as_str().expect("why");
        assert!(why.starts_with("Guard: 30 of the 30 issues in progress look stranded"), "{why}");
        world.sweep();
        let shown = world.attention();
        assert_eq!((&shown["items_total"], &shown["sweeper"]["state"]), (&0.into(), &"well".into()));
    }
}
