//! How often a sweep waits for an answer of the server, which may be far away.

use std::ops::Range;

use sweep::rules::Id;

use crate::support::program::sweep_at;
use crate::support::proxy::{Direction, Proxy};
use crate::support::world::{On, World};

/// The message of a server that waits for the client.
const READY: &[u8] = b"Z\0\0\0\x05";

fn round_trips(world: &World) -> usize {
    // The guard asks further questions when there are many subjects.
    round_trips_with(world, &["--no-guard"])
}

fn round_trips_with(world: &World, more: &[&str]) -> usize {
    let proxy = Proxy::start(None);
    let arguments = [&["--set", "connections=1", "--set", "wakes_per_agent_max=100"], more].concat();
    sweep_at(&proxy.url(world.name(), "disable"), arguments).run().done();
    proxy.passed(Direction::ToClient).windows(READY.len()).filter(|bytes| *bytes == READY).count()
}

/// Makes issues that wait for something that their host has declared.
fn that_wait(world: &mut World, agent: &Id, numbers: Range<u32>) {
    for issue in world.orphans(agent, numbers) {
        world.set("issues", &issue, "waiting_for = 'the weather'");
    }
}

#[test]
fn a_sweep_that_finds_nothing_takes_fifteen() {
    let mut world = World::new(On::Postgres);
    world.agent("idle");
    sweep_at(&world.url, []).run().done();

    assert_eq!(round_trips(&world), 15);
    assert_eq!(world.count("sweeps where succeeded and finished_at > started_at"), 2);
}

#[test]
fn a_subject_that_is_continued_takes_three() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..5);
    let few = round_trips(&world);
    world.orphans(&agent, 10..35);
    let many = round_trips(&world);

    assert_eq!(world.count("wakes"), 30);
    assert!(many <= few + 3 * 20, "{many} for 25, and {few} for 5");
}

#[test]
fn subjects_that_wait_take_none_of_their_own() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    that_wait(&mut world, &agent, 0..5);
    let few = round_trips(&world);
    that_wait(&mut world, &agent, 10..35);

    assert_eq!(round_trips(&world), few);
}

#[test]
fn the_guards_questions_about_a_kind_take_seven() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    that_wait(&mut world, &agent, 0..25);

    assert_eq!(round_trips_with(&world, &[]), round_trips(&world) + 7);
}
