//! What counts as an attempt, and when an attempt has had its time.

use sweep::rules::Id;
use sweep::rules::Kind;

use crate::support::program::explain;
use crate::support::world::{On, World, on_each_host};

/// Has the host drop every wake of sweep's before a run begins.
fn drop_wakes(world: &mut World) {
    if world.on == On::Paperclip {
        world.run("update heartbeat_runs set status = 'cancelled', finished_at = now() where status = 'queued'");
        world.run("update agent_wakeup_requests set status = 'skipped' where status = 'queued'");
    } else {
        world.run("update wakes set status = 'cancelled' where status = 'queued'");
    }
}

fn ledger_attempts(world: &mut World, issue: &Id) -> i64 {
    world.count(&format!("recoveries where subject_id = '{issue}' and action = 'continue'"))
}

on_each_host! {
    fn a_continuation_that_never_began_costs_no_attempt_but_is_counted_by_the_day(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        for _ in 0..4 {
            let swept = world.sweep();
            assert_eq!(swept.outcome(&issue), "continued");
            assert_eq!(swept.subject(&issue)["attempt"], 1, "none of those before began");
            drop_wakes(world);
            world.pass(3);
            assert_eq!(world.sweep().outcome(&issue), "waiting", "the next one keeps its distance");
            world.pass(3);
        }
        let swept = world.sweep();
        assert_eq!((swept.outcome(&issue), ledger_attempts(world, &issue)), ("escalated", 4));
        assert_eq!(swept.subject(&issue)["reason"], "too many continuations in 24 hours");
    }

    fn one_that_began_after_some_that_did_not_is_the_one_attempt(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();
        drop_wakes(world);
        world.pass(6);
        world.sweep();
        world.end_continuations("failed");
        world.pass(6);
        let swept = world.sweep();
        assert_eq!((swept.outcome(&issue), ledger_attempts(world, &issue)), ("escalated", 2));
        assert_eq!(swept.subject(&issue)["attempt"], 1);
    }

    /// Somebody may still take up what the last run left behind.
    fn an_escalation_comes_no_sooner_than_the_delay_after_the_last_attempt_ended(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.sweep();
        world.pass(20);
        world.end_continuations("failed");
        world.pass(4);
        assert_eq!(world.sweep().outcome(&issue), "waiting");
        assert_eq!(world.dry_run().subject(&issue)["decision"], "wait");
        world.pass(2);
        assert_eq!(world.sweep().outcome(&issue), "escalated");
    }

    fn a_wake_is_explained_with_its_run_and_the_end_of_the_last_one(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let last = world.issue_run(&issue, &agent, "timed_out", 40);
        world.sweep();
        let wakes = if world.on == On::Paperclip { "agent_wakeup_requests" } else { "wakes" };
        let wake = world.text("id", &format!("{wakes} where status = 'queued'")).expect("a wake");
        let clauses = explain(&world.url, Kind::Issue, &issue.0)["clauses"].to_string();
        let run = format!("run {} timed out", &last.0[..8]);
        assert!(clauses.contains(&format!("wake {} (queued, by sweep)", &wake[..8])), "{clauses}");
        assert!(world.on == On::Paperclip || clauses.contains("no run yet"), "{clauses}");
        assert!(world.on != On::Paperclip || clauses.contains("is queued"), "{clauses}");
        world.end_continuations("failed");
        world.run(&format!("update {wakes} set status = 'cancelled'"));
        let clauses = explain(&world.url, Kind::Issue, &issue.0)["clauses"].to_string();
        assert!(!clauses.contains(&run) && clauses.contains(" failed"), "the latest one counts: {clauses}");
    }
}
