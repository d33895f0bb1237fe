//! `sweep run`: what a shell script that runs an agent is told of its run.

use serde_json::json;
use sweep::rules::Id;

use crate::support::program::{Ran, command_at};
use crate::support::world::{World, on_each_database};

const TAKEN: i32 = 1;
const USAGE: i32 = 64;

fn run(world: &World, words: &str) -> Ran {
    command_at(&world.url, ["run"].into_iter().chain(words.split(' '))).run()
}

on_each_database! {
    fn what_was_done_about_a_run_is_answered_in_json(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.issue_wake(&issue, &agent, "queued", 0);
        let json = |words: &str| run(world, &format!("{words} --output json")).done().json();
        let started = json("start --lease 5m");
        let id = started["run"].as_str().expect("a run");
        assert_eq!(started, json!({ "schema": 1, "run": id, "agent": agent, "issue": issue, "step": null }));
        for [verb, status] in [["heartbeat", ""], ["end", " succeeded"]] {
            let done = json!({ "schema": 1, "command": format!("run {verb}"), "done": [id], "failed": [] });
            assert_eq!(json(&format!("{verb} {id}{status}")), done);
        }
        assert_eq!(run(world, &format!("end {id} failed")).out, "");
    }

    fn a_script_is_told_nothing_but_the_exit_code(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let id = world.issue_run(&issue, &agent, "running", 5);
        for words in [format!("heartbeat {id}"), format!("end {id} succeeded")] {
            assert_eq!(run(world, &words).done().out, "", "{words}");
        }
    }

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
