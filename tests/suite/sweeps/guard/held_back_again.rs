//! A guard that stands for hours is not decided in every sweep.

use sweep::conclusion::Conclusion;
use sweep::rules::{Guard, Id, Policy};
use sweep::store::connect::open::Url;
use sweep::sweep::Options;

use crate::support::in_process::sweep_once;
use crate::support::proxy::{Direction, Proxy};
use crate::support::scratch::Role;
use crate::support::world::{On, World, on_each_host};

/// The guard holds back 30 of 40 issues; and whoever looked at them again would find that they wait for something.
fn guard_that_stands(world: &mut World) -> Vec<Id> {
    let agent = world.agent("idle");
    let issues = world.orphans(&agent, 0..30);
    world.healthy(&agent, 10);
    assert_eq!(world.sweep_guarded().guard("issues"), HELD);
    world.declare_waits(&issues);
    issues
}

/// Of the guard that stands.
fn is_lifted(world: &World, settings: &Options) -> bool {
    let swept = world.sweep_as(settings);
    match swept.guard("issues") {
        None => swept.count("issues", "scanned") == swept.count("issues", "waiting") && swept.exit == Conclusion::Done,
        held => {
            assert_eq!((held, swept.exit, swept.count("issues", "scanned")), (HELD, Conclusion::Guarded, 0));
            false
        }
    }
}

const HELD: Option<(u64, u64)> = Some((30, 40));

on_each_host! {
    fn what_was_held_back_is_held_back_again_without_being_examined(world) {
        guard_that_stands(world);

        assert!(!is_lifted(world, &Options { dry_run: true, ..world.guarded() }));
        for _ in 0..3 {
            assert!(!is_lifted(world, &world.guarded()));
        }

        assert_eq!(world.count("(select distinct guard_decided_at from sweeps) as decided"), 1);
        // The control: nobody who remembers nothing holds them back.
        world.run("update sweeps set guard_decided_at = null");
        assert!(is_lifted(world, &Options { dry_run: true, ..world.guarded() }));
        assert!(is_lifted(world, &world.guarded()));
    }

    fn when_there_are_fewer_candidates_it_is_decided_anew_and_lifted_at_once(world) {
        let issues = guard_that_stands(world);
        let agent = world.agent("idle");
        world.set("issues", &issues[0], "status = 'done'");

        assert!(is_lifted(world, &world.guarded()));

        // And what stood before that is over.
        let more = world.orphans(&agent, 100..105);
        world.declare_waits(&more);
        assert!(is_lifted(world, &world.guarded()));
    }

    fn when_so_many_would_not_stop_it_any_more_it_is_decided_anew(world) {
        guard_that_stands(world);
        let agent = world.agent("idle");
        for issue in world.orphans(&agent, 600_000..600_020) {
            world.issue_run(&issue, &agent, "running", 5);
        }

        assert!(is_lifted(world, &world.guarded()));
    }

    fn after_an_hour_it_is_decided_anew_however_often_it_was_taken_over(world) {
        guard_that_stands(world);
        world.date_the_guard(59);
        assert!(!is_lifted(world, &world.guarded()));
        assert!(!is_lifted(world, &world.guarded()));

        world.date_the_guard(61);

        assert!(is_lifted(world, &world.guarded()));
    }

    fn what_was_decided_by_other_settings_is_decided_anew(world) {
        guard_that_stands(world);
        let policy = Policy { attempts_max: 2, ..Policy::default() };
        assert!(is_lifted(world, &Options { policy, dry_run: true, ..world.guarded() }));
        for guard in [Guard { share: 0.6, min: 20 }, Guard { share: 0.5, min: 19 }] {
            assert!(is_lifted(world, &Options { dry_run: true, ..world.settings_with(guard) }));
        }
        world.run("update sweeps set version = '0.0.0'");
        assert!(is_lifted(world, &Options { dry_run: true, ..world.guarded() }));
    }

    fn what_was_decided_in_the_future_is_not_believed(world) {
        guard_that_stands(world);
        world.date_the_guard(-10);
        assert!(is_lifted(world, &world.guarded()));
    }

    /// It would be believed when that time has come, and for longer than an hour.
    fn what_a_clock_that_was_ahead_has_dated_in_the_future_is_forgotten(world) {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..30);
        world.sweep_guarded();
        world.date_the_guard(-30);
        let ahead = world.ago(-30);
        world.run(&format!("update sweeps set started_at = {ahead}"));

        world.sweep_guarded();

        assert_eq!(world.count("sweeps where guard_held is not null"), 1);
        assert_eq!(world.count(&format!("sweeps where started_at < {} and guard_held is not null", world.ago(0))), 1);
    }

    fn a_record_that_cannot_be_read_is_decided_anew(world) {
        guard_that_stands(world);
        world.run("update sweeps set guard_held = '{\"kinds\": 7}'");
        assert!(is_lifted(world, &world.guarded()));
    }

    fn without_the_guard_all_is_swept_and_nothing_is_remembered(world) {
        guard_that_stands(world);

        let swept = world.sweep();

        assert_eq!((swept.exit, swept.count("issues", "waiting")), (Conclusion::Done, 30));
        assert_eq!(world.count("sweeps where guard_held is null and guard_decided_at is null"), 1);
    }

    fn a_sweep_that_looked_at_another_kind_says_nothing_of_this_one(world) {
        guard_that_stands(world);
        let selection = sweep::sweep::Selection::Kinds(vec![sweep::rules::Kind::Session]);
        world.sweep_as(&Options { selection, ..world.guarded() });

        assert!(!is_lifted(world, &world.guarded()));
    }

    fn any_shard_goes_by_what_another_has_decided(world) {
        let issues = guard_that_stands(world);
        let shard = |index| Some(sweep::store::work::candidates::Shard { index, count: 2 });

        for index in [0, 1] {
            let swept = world.sweep_as(&Options { shard: shard(index), ..world.guarded() });
            assert_eq!((swept.exit, swept.guard("issues")), (Conclusion::Guarded, HELD));
        }
        world.set("issues", &issues[0], "status = 'done'");
        let swept = world.sweep_as(&Options { shard: shard(0), ..world.guarded() });
        assert_eq!((swept.exit, swept.guard("issues")), (Conclusion::Done, None));
    }
}

/// A role for dry runs alone need not read sweep's own sweeps.
#[test]
fn who_may_not_read_what_was_decided_decides_it_anew() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    guard_that_stands(&mut world);
    let name = &role.name;
    world.run(&format!("grant usage on schema sweep to {name}; grant select on all tables in schema sweep to {name}"));
    world.run(&format!("grant execute on all functions in schema sweep to {name}"));
    let database = Url::parse(&role.at(&world.url)).expect("a URL");
    let as_role = Options { database, dry_run: true, ..world.guarded() };
    assert!(!is_lifted(&world, &as_role), "the control: it may read them");

    world.run(&format!("revoke select on sweeps from {name}"));

    assert!(is_lifted(&world, &as_role));
}

/// The transactions of one guarded sweep.
fn transactions(world: &World) -> usize {
    let proxy = Proxy::start(None);
    let database = Url::parse(&proxy.url(world.name(), "disable")).expect("a URL");
    let swept = sweep_once(&Options { database, ..world.guarded() });
    assert_eq!(swept.guard("issues"), Some((1_501, 3_000)));
    let begin = b"BEGIN ISOLATION LEVEL";
    proxy.passed(Direction::ToServer).windows(begin.len()).filter(|bytes| bytes == begin).count()
}

#[test]
fn a_sweep_under_a_standing_guard_costs_as_much_as_counting() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..3_000);

    let counts = [(); 3].map(|()| transactions(&world));

    assert!(counts[1] < counts[0] && counts[1] < 30 && counts[1] == counts[2], "{counts:?}");
}
