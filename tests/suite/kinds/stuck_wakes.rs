//! A dead runner raises an alarm: wakes that nobody takes up are reported and measured, and people are notified once.

use serde_json::{Value, json};

use crate::support::program::{Ran, command_at, sweep_at};
use crate::support::receiver::Receiver;
use crate::support::world::{On, World, on_each_database, on_each_host};

/// Makes issues, each with a wake that nobody has taken up for so long.
fn untaken_wakes(world: &mut World, n: usize, minutes: i64) {
    let agent = world.agent("idle");
    for _ in 0..n {
        let issue = world.orphan(&agent);
        world.issue_wake(&issue, &agent, "queued", minutes);
    }
}

/// Makes another wake, whose run began so long ago.
fn taken_wake(world: &mut World, minutes: i64) {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let wake = world.issue_wake(&issue, &agent, "completed", minutes + 1);
    let run = world.issue_run(&issue, &agent, "succeeded", minutes);
    let began = world.ago(minutes);
    world.run(&match world.on {
        On::Paperclip => format!(
            "update heartbeat_runs set wakeup_request_id = '{wake}', started_at = {began}, finished_at = {began} where \
                id = '{run}'"
        ),
        On::Postgres | On::Sqlite => {
            format!("update runs set wake_id = '{wake}', finished_at = {began} where id = '{run}'")
        }
    });
}

fn pinged(world: &World, receiver: &Receiver) -> (Ran, Vec<String>) {
    let ran = sweep_at(&world.url, []).env("SWEEP_PING_URL", receiver.url()).env("SWEEP_NOTIFY_PRIVATE", "on").run();
    (ran.done(), receiver.take().into_iter().map(|request| request.path).collect())
}

on_each_host! {
    fn eight_wakes_that_nobody_took_for_two_days_are_said_in_the_report_and_the_log(world) {
        untaken_wakes(world, 8, 2880);
        let ran = sweep_at(&world.url, []).run().done();
        let says = "8 wakes are stuck: queued for longer than 1h, and taken up by nobody, the oldest for 2d. \
                    No wake was taken up in the last 1h: does whatever runs the agents still run?";
        assert!(ran.out.contains(says) && ran.err.contains(says), "{ran}");
        let swept = world.dry_run();
        assert_eq!(
            (&swept.json["stuck_wakes"]["count"], &swept.json["stuck_wakes"]["none_is_taken"]),
            (&json!(8), &json!(true))
        );
    }

    fn one_that_is_young_or_whose_agent_is_paused_is_not_stuck(world) {
        untaken_wakes(world, 1, 50);
        let paused = world.agent("paused");
        let issue = world.orphan(&paused);
        world.issue_wake(&issue, &paused, "queued", 2880);
        assert_eq!(
            world.sweep().json["stuck_wakes"],
            json!({"count": 0, "oldest_at": Value::Null, "none_is_taken": false})
        );
    }

    fn that_one_was_passed_over_while_later_ones_were_taken_up_is_no_outage_in_a_quiet_hour(world) {
        untaken_wakes(world, 1, 2880);
        taken_wake(world, 600);
        let stuck = &world.sweep().json["stuck_wakes"];
        assert_eq!((&stuck["count"], &stuck["none_is_taken"]), (&json!(1), &json!(false)));
    }

    fn one_of_a_terminated_agent_is_stuck_and_says_nothing_of_who_runs_the_others(world) {
        let agent = world.agent("terminated");
        let issue = world.orphan(&agent);
        world.issue_wake(&issue, &agent, "queued", 2880);
        let stuck = &world.sweep().json["stuck_wakes"];
        assert_eq!((&stuck["count"], &stuck["none_is_taken"]), (&json!(1), &json!(false)));
    }

    fn one_whose_run_began_is_not_stuck_however_long_it_runs(world) {
        let agent = world.agent("running");
        let issue = world.orphan(&agent);
        let wake = world.issue_wake(&issue, &agent, "claimed", 300);
        let run = world.issue_run(&issue, &agent, "running", 290);
        world.run(&match world.on {
            On::Paperclip => format!("update agent_wakeup_requests set run_id = '{run}' where id = '{wake}'"),
            On::Postgres | On::Sqlite => format!("update runs set wake_id = '{wake}' where id = '{run}'"),
        });
        assert_eq!(world.sweep().json["stuck_wakes"]["count"], 0);
    }

    fn the_dead_mans_switch_hears_of_failure_when_none_is_taken_up_and_of_success_when_some_are(world) {
        let receiver = Receiver::new();
        untaken_wakes(world, 2, 2880);
        assert_eq!(pinged(world, &receiver).1, ["/services/hunter2/start", "/services/hunter2/fail"]);
        taken_wake(world, 10);
        let (ran, heard) = pinged(world, &receiver);
        assert_eq!(heard, ["/services/hunter2/start", "/services/hunter2"]);
        assert!(ran.out.contains("2 wakes are stuck") && !ran.out.contains("No wake was taken up"), "{ran}");
    }

    fn the_status_lists_each_wake_once_whatever_works_on_its_issue(world) {
        untaken_wakes(world, 3, 200);
        let json = command_at(&world.url, ["status", "--output", "json"]).run().done().json();
        assert_eq!((&json["stuck_wakes_total"], &json["no_wake_is_taken"]), (&json!(3), &json!(true)));
        assert_eq!(json["stuck_wakes"][0]["kind"], "issue");
        let out = command_at(&world.url, ["status"]).run().done().out;
        assert!(
            out.contains("3 wakes are stuck: queued for longer than 1h, and none was taken up in that time"),
            "{out}"
        );
    }
}

mod people {
    use super::*;

    fn sweep_and_notify(world: &World, receiver: &Receiver) -> Vec<String> {
        let sweep = sweep_at(&world.url, []).env("SWEEP_SLACK_URL", receiver.url());
        sweep.env("SWEEP_NOTIFY_PRIVATE", "on").run().done();
        let texts = receiver.received().into_iter();
        texts.map(|reported| reported["text"].as_str().expect("a text").to_owned()).collect()
    }

    on_each_database! {
        fn are_notified_once_more_when_what_began_with_one_wake_comes_to_be_all_of_them(world) {
            let receiver = Receiver::new();
            untaken_wakes(world, 1, 200);
            taken_wake(world, 10);
            let first = sweep_and_notify(world, &receiver);
            assert!(first.len() == 1 && !first[0].contains("No wake was taken up"), "{first:?}");
            assert!(sweep_and_notify(world, &receiver).is_empty());
            world.run("delete from runs");
            let worse = sweep_and_notify(world, &receiver);
            assert!(worse.len() == 1 && worse[0].contains("No wake was taken up in the last 1h"), "{worse:?}");
            assert!((0..2).all(|_| sweep_and_notify(world, &receiver).is_empty()));
        }

        fn are_notified_once_of_an_outage_and_once_when_it_is_over(world) {
            let receiver = Receiver::new();
            untaken_wakes(world, 2, 200);
            let first = sweep_and_notify(world, &receiver);
            assert!(first.len() == 1 && first[0].starts_with("sweep: 2 wakes are stuck"), "{first:?}");
            untaken_wakes(world, 1, 300);
            assert!(sweep_and_notify(world, &receiver).is_empty());

            // All old wakes but one are gone.
            world.run("update wakes set status = 'completed'");
            untaken_wakes(world, 1, 40);
            assert!(sweep_and_notify(world, &receiver).is_empty());
            world.run("update wakes set status = 'completed'");
            let over = sweep_and_notify(world, &receiver);
            assert_eq!(over, ["sweep: wakes are taken up again: none has been queued for longer than 30m"]);
            assert!(sweep_and_notify(world, &receiver).is_empty());

            // A clock that was ahead wrote these times, which say nothing about today.
            let tomorrow = world.ago(-1440);
            world.run(&format!("update notifications set created_at = {tomorrow}"));
            assert!((0..3).all(|_| sweep_and_notify(world, &receiver).is_empty()));

            untaken_wakes(world, 1, 200);
            let next = sweep_and_notify(world, &receiver);
            assert!(next.len() == 1 && next[0].starts_with("sweep: 1 wake is stuck"), "{next:?}");
        }
    }
}
