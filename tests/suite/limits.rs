//! What one sweep does at most, and that it tells what it left to the next one.

mod wakes;

use chrono::TimeDelta;
use serde_json::{Value, json};
use sweep::exit::Exit;
use sweep::rules::Id;
use sweep::settings::Settings;

use crate::crowds::numbered;
use crate::program::sweep_at;
use crate::swept::Swept;
use crate::world::{On, World, on_each_host};

impl World {
    /// What the latest sweep's row says of a kind.
    fn recorded(&mut self, kind: &str) -> Value {
        let counts = self.text("counts", "(select counts from sweeps order by started_at desc limit 1) latest");
        crate::json::read(&counts.expect("counts"))[kind].take()
    }

    /// Issues that sweep has woken their agents for.
    fn continued(&mut self) -> Vec<Id> {
        let mut db = self.connect();
        let rows: Vec<Continued> = diesel::RunQueryDsl::load(
            diesel::sql_query(
                "select cast(subject_id as text) as id from recoveries where action = 'continue' order by subject_id",
            ),
            &mut db,
        )
        .expect("recoveries");
        rows.into_iter().map(|row| Id(row.id)).collect()
    }
}

#[derive(diesel::QueryableByName)]
struct Continued {
    #[diesel(sql_type = diesel::sql_types::Text)]
    id: String,
}

/// How long ago a time of the report is, in minutes.
fn minutes_since(time: &Value, swept: &Swept) -> i64 {
    let parse = |time: &Value| chrono::DateTime::parse_from_rfc3339(time.as_str().expect("a time")).expect("a time");
    (parse(&swept.json["began_at"]) - parse(time)).num_minutes()
}

on_each_host! {
    fn of_more_than_a_page_the_limit_takes_exactly_the_oldest(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..1_200);
        let settings = Settings { limit: Some(3), ..world.settings() };

        let dry = world.sweep_as(&Settings { dry_run: true, ..settings.clone() });
        let swept = world.sweep_as(&settings);

        for swept in [&dry, &swept] {
            assert_eq!((swept.exit, &swept.json["stopped_by"]), (Exit::Done, &json!("limit")));
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

        let swept = world.sweep_as(&Settings { limit: Some(2), ..world.settings() });

        assert_eq!(world.continued(), [48, 49].map(numbered));
        assert_eq!(swept.count("issues", "scanned") + swept.count("issues", "deferred"), 1_100);
    }

    fn a_limit_that_is_just_enough_leaves_nothing(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..3);

        let swept = world.sweep_as(&Settings { limit: Some(3), ..world.settings() });

        assert_eq!((swept.count("issues", "continued"), swept.count("issues", "deferred")), (3, 0));
        assert_eq!((&swept.json["stopped_by"], &swept.json["kinds"]["issues"]["oldest_deferred_at"]), (&json!(null), &json!(null)));
    }

    fn one_sweep_after_the_other_does_it_all(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..25);

        let done: Vec<i64> = (0..4)
            .map(|_| world.sweep_as(&Settings { limit: Some(10), ..world.settings() }).count("issues", "continued"))
            .collect();

        assert_eq!(done, [10, 10, 5, 0]);
    }

    fn a_deadline_that_is_over_at_once_leaves_all_to_the_next_sweep(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..1_050);
        let tiny = Settings { deadline: TimeDelta::milliseconds(1), ..world.settings() };

        for settings in [Settings { dry_run: true, ..tiny.clone() }, tiny] {
            let swept = world.sweep_as(&settings);
            assert_eq!((swept.exit, &swept.json["stopped_by"], &swept.json["ended"]), (Exit::Done, &json!("deadline"), &json!("completed")));
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
            let swept = world.sweep_as(&Settings { deadline, ..world.settings() });
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
fn the_table_tells_what_was_left_and_why() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..5);
    for (arguments, says) in [
        (["--limit", "2"], "The limit is reached"),
        (["--deadline", "1ms"], "The deadline is reached"),
        (["--wakes-per-agent-max", "2"], "its agent was woken or nudged 2 times in this sweep"),
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
