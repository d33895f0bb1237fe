//! `--shard i/n`: several sweeps share the work of one, by agent; whatever they do at the same time, nothing is done
//! twice.

mod partition;

use std::thread;

use sweep::conclusion::Conclusion;
use sweep::rules::{Guard, Id};
use sweep::store::work::candidates::Shard;
use sweep::sweep::{Cancel, Options, Progress};

use crate::support::in_process::{Swept, sweep_once};
use crate::support::program::sweep_at;
use crate::support::world::many::numbered;
use crate::support::world::{On, World, on_each_database, on_each_host};

const AGENTS: u32 = 12;
const ISSUES: u32 = 48;

/// Makes a crowd that is alike in every world of a host: twelve agents with four orphans each; the last agent is
/// paused, two issues wait.
fn crowd(world: &mut World) -> Vec<Id> {
    let agents: Vec<Id> = (0..AGENTS).map(|n| numbered(900_000 + n)).collect();
    for (n, id) in agents.iter().enumerate() {
        let status = if n as u32 + 1 == AGENTS { "paused" } else { "idle" };
        let made = world.agent(status);
        world.set("agents", &made, &format!("id = '{id}'"));
    }
    for (n, agent) in agents.iter().enumerate() {
        let first = n as u32 * 4;
        world.orphans(agent, first..first + 4);
    }
    world.declare_waits(&[numbered(5), numbered(23)]);
    agents
}

fn settings_of_shard(world: &World, index: u32, count: u32) -> Options {
    Options { shard: Some(Shard { index, count }), ..world.options() }
}

/// What a sweep leaves behind, without ids and times that no two sweeps have in common.
fn left_behind(world: &mut World) -> Vec<String> {
    let issues = (0..ISSUES).map(|n| {
        let id = numbered(n);
        format!(
            "{n}: {}, {} wakes, {} comments",
            world.status("issues", &id),
            world.wakes_for(&id),
            world.comments_on(&id)
        )
    });
    let mut lines: Vec<String> = issues.collect();
    let done =
        "kind || ' ' || cast(subject_id as text) || ' ' || action || ' ' || cast(attempt as text) || ' ' || reason";
    lines.extend(world.texts(done, "recoveries order by subject_id, action, attempt").into_iter().flatten());
    lines
}

/// The candidates of a shard, by what the views call their group.
fn candidates_of(world: &mut World, shard: Shard) -> i64 {
    let groups = world.texts("group_id", "issue_candidates");
    groups.iter().flatten().filter(|group| partition::is_in(shard, group)).count() as i64
}

/// All of them at the same time.
fn together(settings: &[Options]) -> Vec<Swept> {
    thread::scope(|scope| {
        let sweeps: Vec<_> = settings.iter().map(|settings| scope.spawn(|| sweep_once(settings))).collect();
        sweeps.into_iter().map(|sweep| sweep.join().expect("a sweep")).collect()
    })
}

fn sum(sweeps: &[Swept], outcome: &str) -> i64 {
    sweeps.iter().map(|swept| swept.count("issues", outcome)).sum()
}

on_each_host! {
    fn four_shards_do_the_work_of_one_sweep(world) {
        let mut other = World::new(world.on);
        crowd(world);
        crowd(&mut other);
        let four: Vec<Options> = (0..4).map(|index| settings_of_shard(world, index, 4)).collect();

        for expected in ["continued", "escalated", "healthy"] {
            let alone = other.sweep();
            let shared = together(&four);

            for outcome in
                ["scanned", "continued", "escalated", "recovered", "handed_over", "waiting", "skipped", "healthy"]
            {
                assert_eq!(sum(&shared, outcome), alone.count("issues", outcome), "{outcome}");
            }
            assert_eq!(sum(&shared, "deferred") + sum(&shared, "busy") + sum(&shared, "failed"), 0);
            assert!(expected == "healthy" || sum(&shared, expected) == i64::from(ISSUES) - 6, "{expected}");
            assert_eq!(left_behind(world), left_behind(&mut other));
            let subjects = shared.iter().flat_map(|swept| swept.json["subjects"].as_array().expect("subjects"));
            let mut seen: Vec<&str> = subjects.map(|row| row["id"].as_str().expect("an id")).collect();
            let all = seen.len();
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), all, "one was examined twice");
            for world in [&mut *world, &mut other] {
                world.end_continuations("failed");
                world.pass(10);
            }
        }
        assert_eq!(reading_of_shards(world), (4, 3));
    }

    fn shards_that_overlap_do_nothing_twice(world) {
        crowd(world);
        let overlapping = [(0, 4), (0, 4), (1, 2), (1, 4), (3, 4), (2, 3), (0, 1)]
            .map(|(index, count)| settings_of_shard(world, index, count));

        let swept = together(&overlapping);

        assert_eq!(sum(&swept, "failed") + sum(&swept, "unknown"), 0);
        world.sweep();
        assert_eq!(world.count("recoveries"), i64::from(ISSUES) - 6);
        for n in 0..ISSUES - 4 {
            let waits = i64::from(![5, 23].contains(&n));
            assert_eq!(world.wakes_for(&numbered(n)), waits, "{n}");
        }
    }

    fn limits_and_what_is_deferred_are_the_shards_own(world) {
        crowd(world);
        for index in 0..3 {
            let shard = Shard { index, count: 3 };
            let its = candidates_of(world, shard);
            assert!(4 < its && its < i64::from(ISSUES), "{its}");
            let all: i64 = world.count("recoveries");

            let dry = world.sweep_as(&Options { dry_run: true, limit: Some(2), ..settings_of_shard(world, index, 3) });
            let swept = world.sweep_as(&Options { limit: Some(2), ..settings_of_shard(world, index, 3) });

            for swept in [dry, swept] {
                let of = |outcome| swept.count("issues", outcome);
                assert_eq!(
                    (of("continued"), of("scanned") + of("deferred"), &swept.json["stopped_by"]),
                    (2, its, &"limit".into())
                );
                assert!(!swept.json["kinds"]["issues"]["oldest_deferred_at"].is_null());
            }
            assert_eq!(world.count("recoveries"), all + 2);
        }
    }

    /// Else it would look hung, and not hear of its deadline or a signal.
    fn a_shard_gets_on_also_past_what_is_not_its_own(world) {
        crowd(world);
        let (mut progress, agent) = (Progress::default(), numbered(900_000));
        let index = (0..2).find(|index| !Shard { index: *index, count: 2 }.has(&agent)).expect("the other shard");
        world.run(&format!("update issues set assignee_agent_id = '{agent}'"));

        sweep::sweep::run(&settings_of_shard(world, index, 2), &Cancel::default(), &mut progress).expect("a sweep");

        assert_eq!((progress.steps() as i64, world.count("recoveries")), (i64::from(ISSUES), 0));
    }

    fn the_guard_judges_the_whole(world) {
        crowd(world);
        let guarded = Options { guard: Some(Guard::default()), ..settings_of_shard(world, 1, 4) };
        let its = candidates_of(world, Shard { index: 1, count: 4 });

        let swept = world.sweep_as(&guarded);

        assert_eq!(swept.exit, Conclusion::Guarded);
        let guard = &swept.json["kinds"]["issues"]["guard"];
        assert_eq!((guard["stranded"].as_i64(), guard["in_progress"].as_i64()), (Some(42), Some(48)));
        assert_eq!((swept.count("issues", "deferred"), world.written()), (its, 0));
    }

    fn what_is_named_is_swept_whatever_the_shard(world) {
        crowd(world);
        let selection = sweep::sweep::Selection::Subjects(vec![(sweep::rules::Kind::Issue, "N-0".to_owned())]);
        for index in 0..2 {
            world.sweep_as(&Options { selection: selection.clone(), ..settings_of_shard(world, index, 2) });
        }
        assert_eq!((world.wakes_for(&numbered(0)), world.count("recoveries")), (1, 1));
    }
}

/// The number of shards in the rows of `sweeps`, and how often each has swept.
fn reading_of_shards(world: &mut World) -> (i64, i64) {
    let shards = world.count("(select distinct shard, shards from sweeps where shards = 4) parts");
    (shards, world.count("sweeps where shards = 4") / shards.max(1))
}

mod kinds {
    use super::*;

    on_each_database! {
        fn an_agents_steps_and_issues_are_of_one_shard(world) {
            let agents = crowd(world);
            for (n, agent) in (0..).zip(&agents) {
                world.stalled_steps(agent, n * 2..n * 2 + 2);
            }
            for index in 0..5 {
                let swept = world.sweep_as(&Options { dry_run: true, ..settings_of_shard(world, index, 5) });
                let groups = |kind: &str| {
                    let rows = swept.json["subjects"].as_array().expect("subjects").iter();
                    let mut agents: Vec<&str> =
                        rows.filter(|row| row["kind"] == kind).filter_map(|row| row["agent_id"].as_str()).collect();
                    agents.sort_unstable();
                    agents.dedup();
                    agents
                };
                assert_eq!(groups("issue"), groups("step"), "shard {index}");
            }
        }

        fn the_status_names_the_shard(world) {
            crowd(world);
            world.sweep_as(&settings_of_shard(world, 1, 4));
            let reported = world.status_document();
            assert_eq!((&reported["sweeper"]["sweeps"][0]["shard"], &reported["sweeper"]["sweeps"][0]["shards"]), (&1.into(), &4.into()));
            let ran = crate::support::program::command_at(&world.url, ["status"]).run().done();
            assert!(
                ran.out.contains("(shard 1/4)") && ran.out.contains("No sweep of everything has succeeded yet"),
                "{ran}"
            );
            for index in [0, 2, 3] {
                world.sweep_as(&settings_of_shard(world, index, 4));
            }
            assert!(!world.status_document()["sweeper"]["last_success_at"].is_null());
        }
    }
}

#[test]
fn a_shard_that_there_is_not_is_refused_by_name() {
    let world = World::new(On::Sqlite);
    let expected = "expected a part such as 0/4 or 3/4, of at most 256";
    for value in ["4/4", "1/0", "-1/2", "x", "1", "1/2/3", "0/257", "1.5/2", "/", ""] {
        let flag = format!("--shard={value}");
        sweep_at(&world.url, [flag.as_str()]).run().refused(64, &["--shard", expected]);
        if !value.is_empty() {
            let program = sweep_at(&world.url, []).env("SWEEP_SHARD", value);
            program.run().refused(78, &["SWEEP_SHARD: ", value, expected]);
        }
    }
    sweep_at(&world.url, ["--shard", "0/1"]).run().done();
    sweep_at(&world.url, ["--shard", "255/256"]).run().done();
}
