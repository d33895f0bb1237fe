//! A guard that stands is decided anew by each sweep, from facts that are read a thousand at a time.

use sweep::conclusion::Conclusion;
use sweep::store::connect::open::Url;
use sweep::sweep::Options;

use crate::support::in_process::sweep_once;
use crate::support::proxy::{Direction, Proxy};
use crate::support::world::{On, World, on_each_host};

on_each_host! {
    fn what_was_held_back_is_let_through_as_soon_as_it_waits_for_something(world) {
        let agent = world.agent("idle");
        let issues = world.orphans(&agent, 0..30);
        world.healthy(&agent, 10);
        for _ in 0..2 {
            let swept = world.sweep_guarded();
            let held = (swept.exit, swept.guard("issues"), swept.count("issues", "scanned"));
            assert_eq!(held, (Conclusion::Guarded, Some((30, 40)), 0));
        }
        world.declare_waits(&issues);

        for settings in [Options { dry_run: true, ..world.guarded() }, world.guarded()] {
            let swept = world.sweep_as(&settings);
            let let_through = (swept.exit, swept.guard("issues"), swept.count("issues", "waiting"));
            assert_eq!(let_through, (Conclusion::Done, None, 30));
        }
    }
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
fn a_sweep_under_a_standing_guard_looks_at_many_subjects_in_one_transaction() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..3_000);

    let counts = [(); 3].map(|()| transactions(&world));

    assert!(counts.iter().all(|n| *n < 30), "{counts:?}");
}
