//! The guard: a kind of which too much looks stranded is not touched.

mod kinds_and_tenants;
mod standing;

use serde_json::json;
use sweep::conclusion::Conclusion;
use sweep::rules::{Guard, Kind};
use sweep::sweep::{Options, Selection};

use crate::support::in_process::Swept;
use crate::support::program::{command_at, sweep_at};
use crate::support::world::many::numbered;
use crate::support::world::{On, World, on_each_host};

impl Swept {
    /// Why the guard left a kind alone: `(stranded, in progress)`.
    fn guard(&self, kind: &str) -> Option<(u64, u64)> {
        let guard = &self.json["kinds"][kind]["guard"];
        Some((guard["stranded"].as_u64()?, guard["in_progress"].as_u64()?))
    }
}

on_each_host! {
    fn more_than_half_and_more_than_twenty_are_not_touched(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..31);
        world.healthy(&agent, 29);

        let dry = world.sweep_as(&Options { dry_run: true, ..world.guarded() });
        let swept = world.sweep_as(&world.guarded());

        for swept in [dry, swept] {
            assert_eq!((swept.exit, swept.guard("issues")), (Conclusion::Guarded, Some((31, 60))));
            assert_eq!((swept.count("issues", "scanned"), swept.count("issues", "deferred")), (0, 31));
            let subjects = swept.json["subjects"].as_array().expect("subjects");
            assert!(subjects.iter().all(|subject| subject["kind"] != "issue"), "{subjects:?}");
        }
        assert_eq!(world.written(), 0);
        assert_eq!(world.text("exit_code", "sweeps").as_deref(), Some("4"));
        let counts = crate::support::json::parse_valid(&world.text("counts", "sweeps").expect("counts"));
        let guarded = json!({"stranded": 31, "at_least": false, "undecided": false, "in_progress": 60});
        assert_eq!(counts["issues"]["guard"], guarded);
        let status = command_at(&world.url, ["status"]).run().done().out;
        assert!(status.contains("31 deferred; the guard held work back"), "{status}");
    }

    fn exactly_half_are_swept(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..30);
        world.healthy(&agent, 30);

        let swept = world.sweep_as(&world.guarded());

        assert_eq!(
            (swept.exit, swept.guard("issues"), swept.count("issues", "continued")),
            (Conclusion::Done, None, 30)
        );
    }

    fn twenty_are_swept_though_they_are_all_there_is_and_one_more_is_not(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..20);
        assert_eq!(world.sweep_as(&Options { dry_run: true, ..world.guarded() }).count("issues", "continued"), 20);
        world.orphans(&agent, 20..21);

        let swept = world.sweep_as(&world.guarded());

        assert_eq!((swept.exit, swept.guard("issues")), (Conclusion::Guarded, Some((21, 21))));
    }

    fn what_waits_is_no_reason_to_stop(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..30);
        world.declare_waits(&issues[5..]);

        let swept = world.sweep_as(&world.guarded());

        assert_eq!(swept.guard("issues"), None);
        assert_eq!((swept.count("issues", "continued"), swept.count("issues", "waiting")), (5, 25));
    }

    /// Escalating at scale upon a false picture is worse than continuing.
    fn what_would_be_escalated_counts(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..25);
        world.sweep();
        world.end_continuations("failed");
        world.pass(10);

        let swept = world.sweep_as(&world.guarded());

        assert_eq!(swept.guard("issues"), Some((25, 25)));
        assert_eq!(swept.count("issues", "escalated"), 0);
    }

    fn what_healed_or_is_escalated_already_does_not_count(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..60);
        world.sweep();
        world.end_continuations("succeeded");
        for issue in &issues[..30] {
            world.set("issues", issue, "status = 'done'");
        }
        world.pass(10);
        let policy = sweep::rules::Policy { escalation: sweep::rules::Escalation::CommentOnly, ..Default::default() };
        world.sweep_as(&Options { policy: policy.clone(), ..world.options() });
        world.orphans(&agent, 60..65);

        let swept = world.sweep_as(&Options { policy, ..world.guarded() });

        assert_eq!((swept.guard("issues"), swept.count("issues", "continued")), (None, 5), "{}", swept.json["kinds"]);
    }

    fn more_than_a_page_is_counted_as_well(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..1_100);

        let guarded = world.sweep_as(&world.guarded());
        world.declare_waits(&issues[100..]);
        let swept = world.sweep_as(&world.guarded());

        assert_eq!(guarded.guard("issues"), Some((1_001, 1_100)));
        assert_eq!(guarded.json["kinds"]["issues"]["guard"]["at_least"], true);
        assert_eq!((swept.guard("issues"), swept.count("issues", "continued")), (None, 100));
    }

    fn a_share_of_zero_leaves_the_minimum_and_a_share_of_one_never_stops(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..3);
        world.healthy(&agent, 7);
        let dry = |share, min| {
            let settings = world.settings_with(Guard { share, min });
            world.sweep_as(&Options { dry_run: true, ..settings }).guard("issues")
        };

        assert_eq!(dry(0.0, 2), Some((3, 10)));
        assert_eq!(dry(0.0, 3), None);
        assert_eq!(dry(0.0, 0), Some((3, 10)));
        assert_eq!(dry(1.0, 0), None);
        assert_eq!((dry(0.3, 0), dry(0.29, 0)), (None, Some((3, 10))));
    }

    fn what_the_operator_names_is_not_guarded(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..25);
        let selection = Selection::Subjects(vec![(Kind::Issue, issues[7].0.clone())]);

        let swept = world.sweep_as(&Options { selection, ..world.guarded() });

        assert_eq!((swept.exit, swept.outcome(&issues[7])), (Conclusion::Done, "continued"));
    }

    /// It has seen nothing that it could tell; and nothing is begun any more.
    fn a_deadline_that_is_over_leaves_the_guard_nothing_to_say(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..25);
        let deadline = chrono::TimeDelta::milliseconds(1);

        let swept = world.sweep_as(&Options { deadline, ..world.guarded() });

        assert_eq!(
            (swept.exit, swept.guard("issues"), swept.count("issues", "deferred")),
            (Conclusion::Done, None, 25)
        );
        assert_eq!((&swept.json["stopped_by"], world.written()), (&json!("deadline"), 0));
    }

    fn without_the_guard_everything_is_swept(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..25);
        let ran = sweep_at(&world.url, ["--no-guard", "--output", "json"]).env("SWEEP_GUARD_SHARE", "0").run().done();
        assert_eq!(ran.json()["kinds"]["issues"]["continued"], 25);
    }
}

/// The sentence, where people and machines look for it.
#[test]
fn it_is_said_in_one_sentence() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..25);
    let sentence = "Guard: 25 of the 25 issues in progress look stranded, more likely a false picture than the truth: \
                    no issue was touched";

    for dry_run in [&[][..], &["--dry-run"]] {
        let arguments = ["--set", "guard_share=0.5"].iter().chain(dry_run).copied();
        let ran = sweep_at(&world.url, arguments).run();
        assert_eq!(ran.code, 4, "{ran}");
        assert!(ran.out.contains(sentence) && ran.err.contains(sentence), "{ran}");
        assert!(!ran.out.contains("Nothing to do"), "{ran}");
    }
    assert_eq!(world.wakes_for(&numbered(0)), 0);
}
