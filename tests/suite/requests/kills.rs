//! P3 for requests of people: a request that is killed at any point is done wholly, or not at all.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Instant;

use sweep::rules::Id;

use crate::support::program::BINARY;
use crate::support::rounds::rounds;
use crate::support::wait::wait_for;
use crate::support::world::{On, World, on_each_database};

const KILLS: u32 = 25;

/// The requests of one person, each about another subject.
fn requests(world: &mut World) -> Vec<(&'static str, Id)> {
    let agent = world.agent("idle");
    let crashed = world.session(None, None);
    world.ends(&crashed, "1");
    vec![
        ("wake", world.orphan(&agent)),
        ("nudge", world.session(None, None)),
        ("relaunch", crashed),
        ("pause", world.session(None, None)),
        ("skip-step", world.stalled_step(Some(&agent)).1),
        ("fail-step", world.stalled_step(Some(&agent)).1),
    ]
}

/// How many changes, rows of the ledger and lines of the host's log the requests made.
fn done(world: &mut World) -> [i64; 3] {
    let steps = "plan_steps where status in ('skipped', 'failed')";
    let changes = ["wakes", "session_commands", "sessions where stall_paused", steps];
    [changes.map(|rows| world.count(rows)).iter().sum(), world.count("recoveries"), world.count("activity")]
}

fn start(world: &World, request: &str, id: &Id) -> std::process::Child {
    let mut command = Command::new(BINARY);
    command
        .args(super::command(request))
        .args([&id.0, "--as", "ada", "--database", &world.url])
        .env("SWEEP_LOG", "off");
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program")
}

on_each_database! {
    fn a_request_that_is_killed_at_any_moment_is_done_or_not_and_can_be_made_again(world) {
        let mut killed = 0;
        for kill in rounds(0..KILLS) {
            // Measures a request anew for each kill: its time depends on what else the machine does.
            let agent = world.agent("idle");
            let other = world.orphan(&agent);
            let began = Instant::now();
            assert!(start(world, "wake", &other).wait().expect("an end").success());
            let took = began.elapsed();
            for (request, id) in requests(world) {
                let before = done(world);
                let mut child = start(world, request, &id);
                sleep(took * kill / KILLS);
                let _ = child.kill();
                killed += i32::from(!child.wait().expect("an end").success());
                let others = "pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
                wait_for("the dead", || (world.on == On::Sqlite || world.count(others) == 0).then_some(()));

                let after = done(world);
                let added = [0, 1, 2].map(|n| after[n] - before[n]);
                assert!(added == [0, 0, 0] || added == [1, 1, 1], "{request}: {added:?}");
                if added[0] == 0 {
                    assert!(start(world, request, &id).wait().expect("an end").success(), "{request} again");
                    let made = done(world);
                    assert_eq!([0, 1, 2].map(|n| made[n] - before[n]), [1, 1, 1], "{request}");
                }
            }
        }
        assert!(0 < killed, "no kill came in time");
    }
}
