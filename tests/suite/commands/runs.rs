//! `sweep run`: what a shell script that runs an agent is told of its run.

use sweep::rules::Id;

use crate::support::program::{Ran, command_at};
use crate::support::world::{World, on_each_database};

const TAKEN: i32 = 1;
const USAGE: i32 = 64;

fn run(world: &World, words: &str) -> Ran {
    command_at(&world.url, ["run"].into_iter().chain(words.split(' '))).run()
}

on_each_database! {
    fn a_run_that_does_not_exist_is_told_from_one_that_was_taken(world) {
        let agent = world.agent("running");
        let issue = world.orphan(&agent);
        let taken = world.issue_run(&issue, &agent, "interrupted", 5);
        for [verb, status] in [["heartbeat", ""], ["end", " succeeded"]] {
            let of = |run: &str| format!("{verb} {run}{status}");
            let said = format!("the run {taken} is not running any more");
            run(world, &of(&taken.0)).refused(TAKEN, &[&said]);
            for unknown in [Id::generate().0, "nope".to_owned()] {
                let said = format!("there is no run {unknown} in this database");
                run(world, &of(&unknown)).refused(USAGE, &[&said]);
            }
        }
        assert_eq!(world.status("runs", &taken), "interrupted");
    }
}
