//! Which sweeps count, and what they count.

use std::thread;
use std::time::Duration;

use sweep::conclusion::Conclusion;
use sweep::rules::{Id, Kind};
use sweep::sweep::{Cancel, Heading, KindMode, Observer, Options};

use crate::support::databases::run;
use crate::support::program::sweep_at;
use crate::support::world::{On, World, on_each_host};

/// A poisoned orphan that failed twice.
fn failed_twice(world: &mut World) -> (Id, Id) {
    let agent = world.agent("idle");
    let bad = world.orphan(&agent);
    world.poison(&bad);
    (0..2).for_each(|_| drop(world.sweep()));
    assert_eq!(world.failed_sweeps(&bad), (2, false));
    (bad, agent)
}

/// An observer that, before the first kind is looked at, lets other sweeps begin and end.
struct Overlapping<'a> {
    options: &'a Options,
    further: u32,
}

impl Observer for Overlapping<'_> {
    fn begins(&mut self, _heading: &Heading) {
        if 0 < self.further {
            let mut inner = Overlapping { options: self.options, further: self.further - 1 };
            sweep::sweep::run(self.options, &Cancel::default(), &mut inner).expect("a sweep");
        }
    }
}

on_each_host! {
    fn a_success_between_begins_the_count_anew(world) {
        let (bad, _) = failed_twice(world);
        let mut settings = world.options();
        settings.policy.attempts_max = 9;
        settings.policy.attempts_per_day_max = 9;
        world.heal(&bad);
        assert_eq!(world.sweep_as(&settings).outcome(&bad), "continued");
        assert_eq!(world.failed_sweeps(&bad), (0, false));
        world.end_continuations("failed");
        world.pass(10);
        world.poison(&bad);

        for sweeps in [1, 2, 3] {
            assert_eq!(world.sweep_as(&settings).outcome(&bad), "failed");
            assert_eq!(world.failed_sweeps(&bad), (sweeps, sweeps == 3));
        }
    }

    /// Its agent was woken often enough: nobody tried.
    fn what_is_deferred_neither_counts_nor_resets(world) {
        let (bad, agent) = failed_twice(world);
        let older = world.orphan(&agent);
        let earlier = world.ago(90);
        world.set("issues", &older, &format!("updated_at = {earlier}"));
        let rationed = Options { wakes_per_agent_max: 1, connections: 1, ..world.options() };

        let swept = world.sweep_as(&rationed);

        assert_eq!((swept.outcome(&older), swept.outcome(&bad)), ("continued", "deferred"), "{}", swept.json);
        assert_eq!(world.failed_sweeps(&bad), (2, false));
        world.sweep();
        assert_eq!(world.failed_sweeps(&bad), (3, true));
    }

    /// The plan says something else: nobody tried.
    fn what_is_changed_neither_counts_nor_resets(world) {
        let (bad, _) = failed_twice(world);
        let plan = world.dry_run();
        let other = world.agent("idle");
        world.set("issues", &bad, &format!("assignee_agent_id = '{other}'"));
        let plan = sweep::sweep::plan::Plan::read(plan.json.to_string().as_bytes()).expect("a plan");
        let apply = Options { selection: sweep::sweep::Selection::Plan(Box::new(plan)), ..world.options() };
        assert_eq!(world.sweep_as(&apply).outcome(&bad), "changed");
        assert_eq!(world.failed_sweeps(&bad), (2, false));
    }

    fn a_dry_run_and_a_kind_in_shadow_never_count(world) {
        let agent = world.agent("idle");
        let unreadable = world.orphan(&agent);
        let time = if world.on == On::Sqlite { "0001-01-01T00:00:00.000Z" } else { "-infinity" };
        world.set("issues", &unreadable, &format!("updated_at = '{time}', started_at = '{time}'"));
        let shadow = Options { modes: [(Kind::Issue, KindMode::Shadow)].into(), ..world.options() };
        for _ in 0..4 {
            for swept in [world.dry_run(), world.sweep_as(&shadow)] {
                assert_eq!(swept.outcome(&unreadable), "unreadable", "{}", swept.json);
            }
        }
        assert_eq!(world.count("failures"), 0);
    }

    /// Nor do they reset what sweeps have counted.
    fn a_dry_run_that_finds_nothing_wrong_resets_nothing(world) {
        let (bad, _) = failed_twice(world);
        assert_eq!(world.dry_run().outcome(&bad), "continued");
        let shadow = Options { modes: [(Kind::Issue, KindMode::Shadow)].into(), ..world.options() };
        assert_eq!(world.sweep_as(&shadow).outcome(&bad), "continued");
        assert_eq!(world.failed_sweeps(&bad), (2, false));
    }

    fn four_sweeps_that_overlap_count_as_one(world) {
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        world.poison(&bad);
        for sweeps in [1, 2] {
            let options = world.options();
            let mut observer = Overlapping { options: &options, further: 3 };
            let exit = sweep::sweep::run(&options, &Cancel::default(), &mut observer).expect("a sweep").conclusion;
            assert_eq!((exit, world.failed_sweeps(&bad)), (Conclusion::SomeFailed, (sweeps, false)));
        }
        assert_eq!(world.count("sweeps where ended = 'completed'"), 8);
    }

    /// A full disk, or a trigger that refuses everything, must not put all stranded work in quarantine.
    fn when_more_than_a_few_and_most_fail_none_is_counted(world) {
        let agent = world.agent("idle");
        let issues: Vec<Id> = (0..4).map(|_| world.orphan(&agent)).collect();
        issues.iter().for_each(|issue| world.poison(issue));
        // What is only looked at tells nothing of what is written.
        (0..9).for_each(|_| {
            let waiting = world.orphan(&agent);
            let column = if world.on == On::Paperclip { "monitor_next_check_at" } else { "wait_until" };
            let tomorrow = world.ago(-1440);
            world.set("issues", &waiting, &format!("{column} = {tomorrow}"));
        });

        let ran = sweep_at(&world.url, []).run();

        assert_eq!((ran.code, world.count("failures")), (1, 0), "{ran}");
        let says = "4 of 4 issues failed: that is not their own fault, no failure is counted";
        assert!(ran.err.contains(says), "{ran}");
        world.heal(&issues[0]);
        world.sweep();
        assert_eq!(world.count("failures"), 3, "a few may be their own fault");
    }

    /// A small installation has no more than a few, and they are all that fails.
    fn what_fails_since_the_disk_is_full_is_never_counted(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.poison_with_words(&issue, if world.on == On::Sqlite { "database or disk is full" } else {
            "could not extend file \"base/16384/16385\": No space left on device"
        });
        for _ in 0..4 {
            assert_eq!(world.sweep().outcome(&issue), "failed");
        }
        assert_eq!(world.count("failures"), 0);

        world.heal(&issue);
        assert_eq!(world.sweep().outcome(&issue), "continued");
    }

    /// A trigger of the host's may quote a title.
    fn the_words_of_a_full_disk_in_an_errors_middle_are_the_subjects_own(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.poison_with_words(&issue, if world.on == On::Sqlite { "no such title: database or disk is full" } else {
            "no such title: the database system is shutting down"
        });
        world.sweep();
        assert_eq!(world.count("failures"), 1);
    }

    fn when_half_fails_each_is_counted(world) {
        let agent = world.agent("idle");
        let bad: Vec<Id> = (0..21).map(|_| world.orphan(&agent)).collect();
        bad.iter().for_each(|issue| world.poison(issue));
        (0..21).for_each(|_| drop(world.orphan(&agent)));
        world.sweep();
        assert_eq!(world.count("failures where sweeps = 1"), 21);
    }
}

#[test]
fn what_is_busy_neither_counts_nor_resets() {
    for on in [On::Postgres, On::Paperclip] {
        let mut world = World::new(on);
        let (bad, _) = failed_twice(&mut world);
        let mut host = world.connect();
        run(&mut host, &format!("begin; select from issues where id = '{bad}' for update"));
        assert_eq!(world.sweep().outcome(&bad), "busy");
        run(&mut host, "commit");
        assert_eq!(world.failed_sweeps(&bad), (2, false));
        world.sweep();
        assert_eq!(world.failed_sweeps(&bad), (3, true));
    }
}

#[test]
fn what_loses_its_connection_is_never_counted() {
    for on in [On::Postgres, On::Paperclip] {
        let mut world = World::new(on);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.poison_with(&issue, "perform pg_terminate_backend(pg_backend_pid())");
        for _ in 0..4 {
            assert_eq!(world.sweep().outcome(&issue), "failed");
        }
        assert_eq!(world.count("failures"), 0);
    }
}

/// A sweep that ends later counts the first failure, and commits while this one does: there is nothing to warn of.
#[test]
fn two_sweeps_that_count_a_first_failure_at_once_count_one() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let bad = world.orphan(&agent);
    world.poison(&bad);
    let mut rival = world.connect();
    run(
        &mut rival,
        &format!(
            "begin; insert into failures (kind, subject_id, reason, last_at)
             values ('issue', '{bad}', 'as well', now() + interval '1 minute')"
        ),
    );
    let ran = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(300));
            run(&mut rival, "commit");
        });
        sweep_at(&world.url, []).run()
    });
    assert_eq!((ran.code, world.failed_sweeps(&bad)), (1, (1, false)), "{ran}");
    assert!(!ran.err.contains("could not be recorded"), "{ran}");
}
