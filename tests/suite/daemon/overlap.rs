//! Sweeps of one daemon never overlap, and of those that were missed one is made up.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::daemon::{Daemon, EACH_SECOND, daemon};
use crate::support::proxy::Proxy;
use crate::support::world::{On, World};

const OVERLAPPING: &str = "sweeps one join sweeps other on one.id < other.id
     and one.started_at < coalesce(other.finished_at, now()) and other.started_at < coalesce(one.finished_at, now())";

#[test]
fn a_sweep_that_is_held_up_is_waited_for_and_one_of_the_missed_ones_is_made_up() {
    let (mut world, proxy) = (World::new(On::Postgres), Proxy::start(None));
    let mut daemon = Daemon::start(daemon(&proxy.url(world.name(), "disable"), EACH_SECOND, []));
    daemon.says("sweep completed");

    proxy.freeze();
    let frozen = Instant::now();
    sleep(Duration::from_secs(5));
    let before = (daemon.count("sweep completed"), world.count("sweeps"));
    proxy.thaw();
    let seconds_frozen = frozen.elapsed().as_secs() as usize;

    let thawed = Instant::now();
    let line = daemon.says("this sweep makes up for it");
    let missed: usize = line.split(' ').find_map(|word| word.parse().ok()).unwrap_or_else(|| panic!("{line}"));
    assert!((2..=seconds_frozen).contains(&missed), "{line}");
    // At most the one that was held up and had no row yet, the one that is made up, and what is due meanwhile.
    daemon.says_times(before.0 + 2, "sweep completed");
    let after = world.count("sweeps");
    let due = thawed.elapsed().as_secs() as i64 + 1;
    assert!(after - before.1 <= 2 + due, "{after} after {before:?}; {:?}", daemon.log());
    assert_eq!(daemon.count("this sweep makes up for it"), 1, "{:?}", daemon.log());
    daemon.says_times(before.0 + 4, "sweep completed");
    daemon.ends_well();
    assert_eq!(world.count(OVERLAPPING), 0, "{:?}", world.texts("row_to_json(sweeps)", "sweeps order by started_at"));
    assert_eq!(world.count("sweeps where ended is distinct from 'completed'"), 0);

    // The query sees sweeps that do overlap.
    world.run(
        "insert into sweeps (id, host, version, started_at) select gen_random_uuid(), 'native', '0', now() - \
        interval '1 hour' from generate_series(1, 2)",
    );
    assert!(0 < world.count(OVERLAPPING));
}
