//! The views use the limits of the latest sweep, which are JSON and may hold anything.

use sweep::rules::Id;

use crate::world::{World, on_each_host};

fn swept_with(world: &mut World, policy: &str, minutes_ago: i64) {
    let (id, at) = (Id::generate(), world.ago(minutes_ago));
    world.run(&format!(
        "insert into sweeps (id, host, version, started_at, policy) values ('{id}', 'x', '0', {at}, '{policy}')"
    ));
}

/// Grace, then a step's threshold, then a wake's; in whole seconds.
fn limits(world: &mut World) -> String {
    let whole = |name: &str| format!("cast(cast({name} as bigint) as text)");
    let names = ["orphan_grace_seconds", "step_stalled_after_seconds", "wake_stuck_after_seconds"].map(whole);
    world.text(&names.join(" || ' ' || "), "policy").expect("always one row")
}

on_each_host! {
    fn without_a_sweep_the_defaults_hold(world) {
        assert_eq!(limits(world), "120 1800 3600");
    }

    fn the_latest_sweep_that_has_a_policy_decides(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let state = format!("issue_work_state where subject_id = '{issue}'");
        assert_eq!(world.text("state", &state).as_deref(), Some("orphaned"));

        swept_with(world, r#"{"orphan_grace_seconds": 10}"#, 30);
        swept_with(world, r#"{"orphan_grace_seconds": 7200, "wake_stuck_after_seconds": 60.5, "attempts_max": 3}"#, 20);
        swept_with(world, "{}", 10);

        assert_eq!(world.text("state", &state).as_deref(), Some("active"));
        assert_eq!(world.text("attempts_max", "policy").map(|n| n.starts_with('3')), Some(true));
    }

    fn junk_in_a_policy_is_no_limit_and_stops_nothing(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);
        for (n, junk) in [
            "3", "null", "true", "\"text\"", "[]", "[1, 2]", r#"[{"orphan_grace_seconds": 1}]"#,
            r#"{"orphan_grace_seconds": "soon"}"#, r#"{"orphan_grace_seconds": null}"#, r#"{"orphan_grace_seconds": {"a": 1}}"#,
            r#"{"orphan_grace_seconds": [1]}"#, r#"{"orphan_grace_seconds": true}"#, r#"{"orphan_grace_seconds": -1}"#,
            r#"{"orphan_grace_seconds": 1e300}"#, r#"{"orphan_grace_seconds": 1e999}"#,
            r#"{"orphan_grace_seconds": 99999999999999999999999999}"#, r#"{"": 1}"#,
        ].into_iter().enumerate() {
            swept_with(world, junk, 1000 - n as i64);
            assert_eq!(limits(world), "120 1800 3600", "{junk}");
            assert_eq!(world.count("issue_work_state where state = 'orphaned'"), 1, "{junk}");
        }
    }
}
