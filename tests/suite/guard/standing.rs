//! A guard that stands for hours is not decided in every sweep.

use sweep::exit::Exit;
use sweep::rules::{Guard, Id, Policy};
use sweep::settings::Settings;
use sweep::store::open::Url;

use crate::proxy::{Direction, Proxy};
use crate::scratch::Role;
use crate::swept::sweep_once;
use crate::world::{On, World, on_each_host};

impl World {
    /// The guard holds back 30 of 40 issues; and whoever looked at them again would find that they wait for something.
    fn guard_that_stands(&mut self) -> Vec<Id> {
        let agent = self.agent("idle");
        let issues = self.orphans(&agent, 0..30);
        self.healthy(&agent, 10);
        assert_eq!(self.sweep_guarded().guard("issues"), HELD);
        self.declare_waits(&issues);
        issues
    }

    /// Of the guard that stands.
    fn is_lifted(&self, settings: &Settings) -> bool {
        let swept = self.sweep_as(settings);
        match swept.guard("issues") {
            None => swept.count("issues", "scanned") == swept.count("issues", "waiting") && swept.exit == Exit::Done,
            held => {
                assert_eq!((held, swept.exit, swept.count("issues", "scanned")), (HELD, Exit::Guarded, 0));
                false
            }
        }
    }
}

const HELD: Option<(u64, u64)> = Some((30, 40));

on_each_host! {
    fn what_was_held_back_is_held_back_again_without_being_examined(world) {
        world.guard_that_stands();

        assert!(!world.is_lifted(&Settings { dry_run: true, ..world.guarded() }));
        for _ in 0..3 {
            assert!(!world.is_lifted(&world.guarded()));
        }

        assert_eq!(world.count("(select distinct guard_decided_at from sweeps) as decided"), 1);
        // The control: nobody who remembers nothing holds them back.
        world.run("update sweeps set guard_decided_at = null");
        assert!(world.is_lifted(&Settings { dry_run: true, ..world.guarded() }));
        assert!(world.is_lifted(&world.guarded()));
    }

    fn when_there_are_fewer_candidates_it_is_decided_anew_and_lifted_at_once(world) {
        let issues = world.guard_that_stands();
        let agent = world.agent("idle");
        world.set("issues", &issues[0], "status = 'done'");

        assert!(world.is_lifted(&world.guarded()));

        // And what stood before that is over.
        let more = world.orphans(&agent, 100..105);
        world.declare_waits(&more);
        assert!(world.is_lifted(&world.guarded()));
    }

    fn when_so_many_would_not_stop_it_any_more_it_is_decided_anew(world) {
        world.guard_that_stands();
        let agent = world.agent("idle");
        for issue in world.orphans(&agent, 600_000..600_020) {
            world.issue_run(&issue, &agent, "running", 5);
        }

        assert!(world.is_lifted(&world.guarded()));
    }

    fn after_an_hour_it_is_decided_anew_however_often_it_was_taken_over(world) {
        world.guard_that_stands();
        world.date_the_guard(59);
        assert!(!world.is_lifted(&world.guarded()));
        assert!(!world.is_lifted(&world.guarded()));

        world.date_the_guard(61);

        assert!(world.is_lifted(&world.guarded()));
    }

    fn what_was_decided_by_other_settings_is_decided_anew(world) {
        world.guard_that_stands();
        let policy = Policy { attempts_max: 2, ..Policy::default() };
        assert!(world.is_lifted(&Settings { policy, dry_run: true, ..world.guarded() }));
        for guard in [Guard { share: 0.6, min: 20 }, Guard { share: 0.5, min: 19 }] {
            assert!(world.is_lifted(&Settings { dry_run: true, ..world.settings_with(guard) }));
        }
        world.run("update sweeps set version = '0.0.0'");
        assert!(world.is_lifted(&Settings { dry_run: true, ..world.guarded() }));
    }

    fn what_was_decided_in_the_future_is_not_believed(world) {
        world.guard_that_stands();
        world.date_the_guard(-10);
        assert!(world.is_lifted(&world.guarded()));
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
        world.guard_that_stands();
        world.run("update sweeps set guard_held = '{\"kinds\": 7}'");
        assert!(world.is_lifted(&world.guarded()));
    }

    fn without_the_guard_all_is_swept_and_nothing_is_remembered(world) {
        world.guard_that_stands();

        let swept = world.sweep();

        assert_eq!((swept.exit, swept.count("issues", "waiting")), (Exit::Done, 30));
        assert_eq!(world.count("sweeps where guard_held is null and guard_decided_at is null"), 1);
    }

    fn a_sweep_that_looked_at_another_kind_says_nothing_of_this_one(world) {
        world.guard_that_stands();
        let selection = sweep::settings::Selection::Kinds(vec![sweep::rules::Kind::Session]);
        world.sweep_as(&Settings { selection, ..world.guarded() });

        assert!(!world.is_lifted(&world.guarded()));
    }

    fn any_shard_goes_by_what_another_has_decided(world) {
        let issues = world.guard_that_stands();
        let shard = |index| Some(sweep::store::candidates::Shard { index, count: 2 });

        for index in [0, 1] {
            let swept = world.sweep_as(&Settings { shard: shard(index), ..world.guarded() });
            assert_eq!((swept.exit, swept.guard("issues")), (Exit::Guarded, HELD));
        }
        world.set("issues", &issues[0], "status = 'done'");
        let swept = world.sweep_as(&Settings { shard: shard(0), ..world.guarded() });
        assert_eq!((swept.exit, swept.guard("issues")), (Exit::Done, None));
    }
}

/// A role for dry runs alone need not read sweep's own sweeps.
#[test]
fn who_may_not_read_what_was_decided_decides_it_anew() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    world.guard_that_stands();
    let name = &role.name;
    world.run(&format!("grant usage on schema sweep to {name}; grant select on all tables in schema sweep to {name}"));
    world.run(&format!("grant execute on all functions in schema sweep to {name}"));
    let database = Url::parse(&role.at(&world.url)).expect("a URL");
    let as_role = Settings { database, dry_run: true, ..world.guarded() };
    assert!(!world.is_lifted(&as_role), "the control: it may read them");

    world.run(&format!("revoke select on sweeps from {name}"));

    assert!(world.is_lifted(&as_role));
}

/// The transactions of one guarded sweep.
fn transactions(world: &World) -> usize {
    let proxy = Proxy::start(None);
    let database = Url::parse(&proxy.url(world.name(), "disable")).expect("a URL");
    let swept = sweep_once(&Settings { database, ..world.guarded() });
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

    assert!(1_501 < counts[0] && counts[1] < 40 && counts[1] == counts[2], "{counts:?}");
}
