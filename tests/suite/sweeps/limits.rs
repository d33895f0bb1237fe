//! What one sweep does at most, and that it tells what it left to the next one.

mod wakes_per_agent;

use chrono::TimeDelta;
use serde_json::{Value, json};
use sweep::conclusion::Conclusion;
use sweep::sweep::Options;

use crate::support::in_process::Swept;
use crate::support::program::sweep_at;
use crate::support::world::many::numbered;
use crate::support::world::{On, World, on_each_host};

/// How long ago a time of the report is, in minutes.
fn minutes_since(time: &Value, swept: &Swept) -> i64 {
    let parse = |time: &Value| chrono::DateTime::parse_from_rfc3339(time.as_str().expect("a time")).expect("a time");
    (parse(&swept.json["began_at"]) - parse(time)).num_minutes()
}

on_each_host! {
    fn of_more_than_a_page_the_limit_takes_exactly_the_oldest(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..1_200);
        let settings = Options { limit: Some(3), ..world.options() };

        let dry = world.sweep_as(&Options { dry_run: true, ..settings.clone() });
        let swept = world.sweep_as(&settings);

        for swept in [&dry, &swept] {
            assert_eq!((swept.exit, &swept.json["stopped_by"]), (Conclusion::Done, &json!("limit")));
            assert_eq!((swept.count("issues", "continued"), swept.count("issues", "deferred")), (3, 1_197));
            assert_eq!(minutes_since(&swept.json["kinds"]["issues"]["oldest_deferred_at"], swept), 60 + 1_196);
        }
        assert_eq!(world.continued(), [1_197, 1_198, 1_199].map(numbered));
        assert_eq!(world.recorded("issues")["deferred"], 1_197);
    }

    fn what_needs_nothing_takes_nothing_from_the_limit(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..1_100);
        world.declare_waits(&issues[50..]);

        let swept = world.sweep_as(&Options { limit: Some(2), ..world.options() });

        assert_eq!(world.continued(), [48, 49].map(numbered));
        assert_eq!(swept.count("issues", "scanned") + swept.count("issues", "deferred"), 1_100);
    }

    fn a_limit_that_is_just_enough_leaves_nothing(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..3);

        let swept = world.sweep_as(&Options { limit: Some(3), ..world.options() });

        assert_eq!((swept.count("issues", "continued"), swept.count("issues", "deferred")), (3, 0));
        assert_eq!(
            (&swept.json["stopped_by"], &swept.json["kinds"]["issues"]["oldest_deferred_at"]),
            (&json!(null), &json!(null))
        );
    }

    fn one_sweep_after_the_other_does_it_all(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..25);

        let done: Vec<i64> = (0..4)
            .map(|_| world.sweep_as(&Options { limit: Some(10), ..world.options() }).count("issues", "continued"))
            .collect();

        assert_eq!(done, [10, 10, 5, 0]);
    }

    fn a_deadline_that_is_over_at_once_leaves_all_to_the_next_sweep(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..1_050);
        let tiny = Options { deadline: TimeDelta::milliseconds(1), ..world.options() };

        for settings in [Options { dry_run: true, ..tiny.clone() }, tiny] {
            let swept = world.sweep_as(&settings);
            assert_eq!(
                (swept.exit, &swept.json["stopped_by"], &swept.json["ended"]),
                (Conclusion::Done, &json!("deadline"), &json!("completed"))
            );
            assert_eq!((swept.count("issues", "scanned"), swept.count("issues", "deferred")), (0, 1_050));
            assert_eq!(minutes_since(&swept.json["kinds"]["issues"]["oldest_deferred_at"], &swept), 60 + 1_049);
        }
        assert_eq!((world.written(), world.recorded("issues")["deferred"].as_i64()), (0, Some(1_050)));

        let next = world.sweep();
        assert_eq!((next.count("issues", "continued"), next.count("issues", "deferred")), (1_050, 0));
    }

    /// Wherever in the sweep it comes.
    fn a_deadline_leaves_what_it_did_not_examine_and_no_more(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..1_300);
        let mut done = 0;
        for milliseconds in [20, 50, 100, 200, 400] {
            let deadline = TimeDelta::milliseconds(milliseconds);
            let swept = world.sweep_as(&Options { deadline, ..world.options() });
            let of = |outcome| swept.count("issues", outcome);
            // What an earlier sweep continued is looked at until something comes of it.
            assert_eq!(of("scanned") + of("deferred"), 1_300, "{}", swept.json["kinds"]);
            assert_eq!((of("scanned"), of("failed") + of("busy")), (of("continued") + of("healthy"), 0));
            assert_eq!(swept.json["stopped_by"] == "deadline", 0 < of("deferred"));
            done += of("continued");
            // The oldest first: what is left is younger.
            let (oldest_left, left) = (&swept.json["kinds"]["issues"]["oldest_deferred_at"], of("deferred"));
            if 0 < left {
                assert!((60 + left - 1..60 + left + 70).contains(&minutes_since(oldest_left, &swept)), "{oldest_left}");
            }
        }
        assert_eq!(world.count("recoveries"), done);
    }
}

#[test]
fn the_table_reports_what_was_left_and_why() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..5);
    for (arguments, says) in [
        (["--limit", "2"], "The limit is reached"),
        (["--set", "deadline=1ms"], "The deadline is reached"),
        (["--set", "wakes_per_agent_max=2"], "its agent was woken or nudged 2 times in this sweep"),
    ] {
        let ran = sweep_at(&world.url, arguments.into_iter().chain(["--dry-run"])).run().done();
        assert!(
            ran.out.contains(says)
                && ran.out.contains("Deferred to the next sweep: ")
                && ran.out.contains(", the oldest idle for 1h"),
            "{ran}"
        );
    }
}
