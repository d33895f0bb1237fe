//! Two clocks that differ, and rows that lie in the future: an operator is notified of both. Only the database's clock
//! counts, which `promises/database_clock` tests.

use std::process::Command;

use serde_json::Value;

use crate::support::program::{BINARY, Program, Ran, sweep_at};
use crate::support::views_and_rules::old_ledger_row;
use crate::support::world::{On, World, on_each_database, on_each_host};

/// `sweep` on a machine whose clock is off by so much, such as `+1h`.
fn sweep_by_another_clock(world: &World, off_by: &str, arguments: &[&str]) -> Ran {
    let mut command = Command::new("faketime");
    command.args(["-f", off_by, BINARY, "--database", &world.url]).args(arguments);
    Program::from_command(command).env("FAKETIME_DONT_FAKE_MONOTONIC", "1").run().done()
}

fn skew(ran: &Ran) -> f64 {
    ran.json()["clocks"]["skew_seconds"].as_f64().expect("a number")
}

#[test]
fn a_machine_whose_clock_is_ahead_or_behind_is_reported_and_its_clock_does_not_count() {
    for on in [On::Postgres, On::Paperclip] {
        for (off_by, seconds, says) in [
            ("+1h", -3600.0, "behind this machine's; only the database's counts"),
            ("-1h", 3600.0, "ahead of this machine's; only the database's counts"),
        ] {
            let mut world = World::new(on);
            let agent = world.agent("idle");
            let orphan = world.orphan(&agent);

            let table = sweep_by_another_clock(&world, off_by, &["--dry-run"]);
            let json = sweep_by_another_clock(&world, off_by, &["--output", "json"]);

            assert!(table.out.contains("The database's clock is ") && table.out.contains(says), "{table}");
            assert!(table.err.contains("WARN The database's clock is ") && table.err.contains(says), "{table}");
            assert!((skew(&json) - seconds).abs() < 3.0, "{json}");
            // Idle for an hour by the database's clock, and recorded by it.
            let idle = json.json()["subjects"][0]["idle_seconds"].as_i64().expect("seconds");
            assert!((3_600..3_660).contains(&idle), "{json}");
            assert_eq!(world.wakes_for(&orphan), 1);
            assert_eq!(world.count("sweeps where abs(extract(epoch from now() - started_at)) < 60"), 1);
        }
    }
}

#[test]
fn a_few_seconds_are_no_news() {
    let world = World::new(On::Postgres);
    for (off_by, is_told) in [("+3s", false), ("-3s", false), ("+8s", true), ("-8s", true)] {
        let ran = sweep_by_another_clock(&world, off_by, &[]);
        assert_eq!(ran.out.contains("The database's clock is "), is_told, "{off_by}: {ran}");
        assert_eq!(ran.err.contains("WARN The database's clock is "), is_told, "{off_by}: {ran}");
    }
}

/// SQLite's clock is the machine's.
#[test]
fn an_embedded_database_has_no_clock_of_its_own() {
    let world = World::new(On::Sqlite);
    let ran = sweep_by_another_clock(&world, "+1h", &["--output", "json"]);
    assert!(skew(&ran).abs() < 1.0, "{ran}");
}

on_each_host! {
    fn clocks_that_agree_are_not_mentioned(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);
        let swept = world.sweep();
        let clocks = &swept.json["clocks"];
        assert!(clocks["skew_seconds"].as_f64().expect("a number").abs() < 1.0, "{clocks}");
        assert_eq!((&clocks["future_seconds"], &clocks["future_subject"]), (&Value::Null, &Value::Null));
        let ran = sweep_at(&world.url, []).run().done();
        assert!(!ran.out.contains("clock") && !ran.out.contains("future"), "{ran}");
    }

    fn the_newest_row_that_lies_in_the_future_is_reported(world) {
        let agent = world.agent("idle");
        let [near, far, orphan] = [world.orphan(&agent), world.orphan(&agent), world.orphan(&agent)];
        for (issue, minutes) in [(&near, -10), (&far, -90)] {
            let then = world.ago(minutes);
            world.set("issues", issue, &format!("updated_at = {then}"));
        }
        world.set("issues", &far, "identifier = 'ACM-12'");

        let swept = world.sweep();
        let ran = sweep_at(&world.url, []).run().done();

        let clocks = &swept.json["clocks"];
        assert!((5_390..=5_400).contains(&clocks["future_seconds"].as_i64().expect("seconds")), "{clocks}");
        assert_eq!(clocks["future_subject"], far.0);
        assert_eq!([&near, &far, &orphan].map(|issue| swept.outcome(issue)), ["healthy", "healthy", "continued"]);
        let says = "The newest row, issue ACM-12, lies 1h 29m in the future: it counts as a sign of life";
        assert!(ran.out.contains(says) && ran.err.contains(says), "{ran}");
    }

    fn a_start_in_the_future_is_reported_as_well(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let then = world.ago(-60);
        world.set("issues", &issue, &format!("started_at = {then}"));
        assert_eq!(world.sweep().json["clocks"]["future_subject"], issue.0);
    }
}

mod steps {
    use super::*;

    on_each_database! {
        fn a_step_of_the_future_is_reported(world) {
            let (_, step) = world.stalled_step(None);
            let then = world.ago(-60);
            world.set("plan_steps", &step, &format!("started_at = {then}"));
            let swept = world.sweep();
            assert_eq!(
                (&swept.json["clocks"]["future_subject"], swept.outcome(&step)),
                (&step.0.clone().into(), "healthy")
            );
        }
    }
}

/// The database's clock jumped while one sweep ran, and is right again: what that sweep wrote is dated in the future.
mod a_jump {
    use super::*;

    impl World {
        /// The last sweep ran tomorrow.
        pub fn date_the_last_sweep_ahead(&mut self) {
            let mut columns = vec![
                ("recoveries", "created_at"),
                ("sweeps", "started_at"),
                ("sweeps", "finished_at"),
                ("notifications", "created_at"),
                ("notifications", "due_at"),
            ];
            columns.extend(match self.on {
                On::Paperclip => vec![
                    ("agent_wakeup_requests", "created_at"),
                    ("heartbeat_runs", "created_at"),
                    ("heartbeat_runs", "updated_at"),
                ],
                On::Postgres | On::Sqlite => vec![("wakes", "created_at"), ("session_commands", "created_at")],
            });
            for (table, column) in columns {
                let ahead = match self.on {
                    On::Sqlite => format!("strftime('%Y-%m-%dT%H:%M:%fZ', {column}, '+1 day')"),
                    On::Postgres | On::Paperclip => format!("{column} + interval '1 day'"),
                };
                // Its rows of the ledger are the open ones: what earlier sweeps did is settled.
                let its = if table == "recoveries" { " where settled_at is null" } else { "" };
                self.run(&format!("update {table} set {column} = {ahead}{its}"));
            }
        }
    }

    on_each_host! {
        fn a_continuation_that_is_dated_tomorrow_is_followed_by_its_escalation_today(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            world.sweep();
            world.date_the_last_sweep_ahead();
            world.end_continuations("failed");
            world.pass(10);

            let swept = world.sweep();

            assert_eq!(swept.outcome(&issue), "escalated", "{}", swept.subject(&issue));
            assert_eq!(world.wakes_for(&issue), 1);
        }

        fn an_escalation_that_is_dated_tomorrow_does_not_hide_the_work_that_a_person_set_back_to_it(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            world.sweep();
            world.end_continuations("failed");
            world.pass(10);
            assert_eq!(world.sweep().outcome(&issue), "escalated");
            world.date_the_last_sweep_ahead();
            world.pass(10);
            world.issue_run(&issue, &agent, "failed", 5);
            world.end_continuations("failed");
            let then = world.ago(4);
            world.set("issues", &issue, &format!("status = 'in_progress', updated_at = {then}"));

            let swept = world.sweep();

            assert_eq!(swept.outcome(&issue), "continued", "{}", swept.subject(&issue));
        }

        fn an_escalation_without_a_block_that_is_dated_tomorrow_hides_no_later_episode(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            // As many as a day may have.
            (0..4).for_each(|n| old_ledger_row(world, "issue", &issue, "escalate", false, true, n - 1440));
            let mut settings = world.options();
            settings.policy.escalation = sweep::rules::Escalation::CommentOnly;
            settings.policy.attempts_max = 0;
            assert_eq!(world.sweep_as(&settings).outcome(&issue), "escalated");
            world.date_the_last_sweep_ahead();
            assert_eq!(world.sweep_as(&settings).outcome(&issue), "waiting", "in this episode people know of it");

            let then = world.ago(4);
            world.set("issues", &issue, &format!("started_at = {then}, updated_at = {then}"));
            let outcomes = [(); 2].map(|()| world.sweep_as(&settings).outcome(&issue).to_owned());
            assert_eq!(outcomes, ["escalated", "waiting"]);
        }

        fn a_wake_that_is_dated_tomorrow_is_seen_as_stuck(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            world.issue_wake(&issue, &agent, "queued", -1440);
            let swept = world.sweep();
            assert_eq!(swept.outcome(&issue), "waiting", "{}", swept.json);
            assert_eq!(swept.subject(&issue)["reason"], "stuck wake: dated 23h 59m in the future");
            let status = crate::support::program::command_at(&world.url, ["status"]).run().done().out;
            assert!(status.contains("dated in 23h 59m"), "{status}");
        }

        fn a_ledger_that_is_ahead_is_reported_and_the_last_success_is_one_that_was(world) {
            let agent = world.agent("idle");
            world.orphan(&agent);
            let first = world.sweep();
            assert_eq!(first.json["clocks"]["ledger_future_seconds"], Value::Null);
            world.date_the_last_sweep_ahead();
            let status = |world: &World| crate::support::program::command_at(&world.url, ["status"]).run().done().out;
            assert!(status(world).contains("No sweep of everything has succeeded yet"), "{}", status(world));

            let ran = sweep_at(&world.url, []).run().done();

            let says = "The ledger's newest row lies 23h 59m in the future";
            assert!(ran.out.contains(says) && ran.err.contains(says), "{ran}");
            let status = status(world);
            assert!(status.contains("Last success: 0s ago") || status.contains("Last success: 1s ago"), "{status}");
            assert!(status.contains("  in 23h 59m"), "{status}");
        }
    }
}
