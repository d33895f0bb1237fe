//! P1, P16: many sweepers at once are safe without leader election, and so are hosts that act at the same moment.

use std::thread;

use diesel::connection::SimpleConnection;
use sweep::rules::Id;
use sweep::store::Db;
use sweep::sweep::Options;

use crate::support::databases::run;
use crate::support::in_process::sweep_once;
use crate::support::world::{On, World, on_each_host};

const ORPHANS: usize = 200;
const SWEEPS: usize = 8;

fn orphans(world: &mut World) -> Vec<Id> {
    let agents: Vec<Id> = (0..5).map(|_| world.agent("idle")).collect();
    world.run("begin");
    let issues = (0..ORPHANS).map(|n| world.orphan(&agents[n % agents.len()])).collect();
    world.run("commit");
    issues
}

/// Runs all sweeps at once, and adds up one outcome.
fn sweep_together(world: &World, outcome: &str) -> i64 {
    let settings = Options { connections: 2, ..world.options() };
    thread::scope(|scope| {
        let sweeps: Vec<_> = (0..SWEEPS).map(|_| scope.spawn(|| sweep_once(&settings))).collect();
        let done = sweeps.into_iter().map(|sweep| sweep.join().expect("a sweep"));
        done.map(|swept| {
            assert_eq!(swept.count("issues", "failed") + swept.count("issues", "unknown"), 0, "{}", swept.json);
            swept.count("issues", outcome)
        })
        .sum()
    })
}

on_each_host! {
    fn eight_sweeps_at_once_on_200_orphans_queue_200_wakes_without_an_error(world) {
        let issues = orphans(world);

        let continued = sweep_together(world, "continued");

        assert_eq!(continued, ORPHANS as i64);
        for issue in &issues {
            assert_eq!(world.wakes_for(issue), 1);
        }
    }

    fn eight_sweeps_at_once_escalate_each_issue_once(world) {
        let issues = orphans(world);
        world.sweep();
        world.end_continuations("failed");
        world.pass(10);

        let escalated = sweep_together(world, "escalated");

        assert_eq!(escalated, ORPHANS as i64);
        for issue in &issues {
            assert_eq!((world.wakes_for(issue), world.comments_on(issue)), (1, 1));
        }
    }
}

/// Two sessions, step by step. The tests play by hand what a sweep must not do, to show that it would be caught.
mod two_sessions {
    use super::*;

    fn on_postgres() -> (World, Id, Id) {
        let mut world = World::new(On::Postgres);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        (world, agent, issue)
    }

    fn insert_unless_pending(issue: &Id, agent: &Id) -> String {
        format!(
            "insert into wakes (agent_id, issue_id, reason, requested_by)
             select '{agent}', id, 'wrong', 'sweep' from issues i
             where i.id = '{issue}' and i.status = 'in_progress'
               and not exists (select from wakes w where w.issue_id = i.id and w.status = 'queued')"
        )
    }

    #[test]
    fn an_issue_that_another_transaction_holds_is_busy_and_done_by_the_next_sweep() {
        let (mut world, _, issue) = on_postgres();
        world.run(&format!("begin; select from issues where id = '{issue}' for update"));
        let busy = world.sweep();
        world.run("commit");
        let next = world.sweep();

        assert_eq!((busy.outcome(&issue), busy.exit), ("busy", sweep::conclusion::Conclusion::Busy));
        assert_eq!(next.outcome(&issue), "continued");
    }

    /// Each issue is a candidate that a sweep would leave as it is.
    #[test]
    fn what_is_left_as_it_is_is_not_locked_and_who_holds_it_is_no_news() {
        let (mut world, agent, issue) = on_postgres();
        world.run("update issues set waiting_for = 'the weather'");
        let paused = world.agent("paused");
        let skipped = world.orphan(&paused);
        let (touched, now) = (world.orphan(&agent), world.ago(0));
        world.set("issues", &touched, &format!("updated_at = {now}"));
        world.run("begin; select from issues for update; select from agents for update");

        let swept = world.sweep();

        let outcomes = [&issue, &skipped, &touched].map(|issue| swept.outcome(issue).to_owned());
        assert_eq!(outcomes, ["waiting", "skipped", "healthy"]);
        assert_eq!(swept.exit, sweep::conclusion::Conclusion::Done);
    }

    #[test]
    fn a_host_that_queues_a_wake_at_the_same_moment_is_not_doubled() {
        let (mut world, agent, issue) = on_postgres();
        world.run("begin");
        world.issue_wake(&issue, &agent, "queued", 0);
        let during = world.sweep();
        world.run("commit");
        let after = world.sweep();

        assert_eq!(during.outcome(&issue), "busy", "the host's uncommitted wake holds its issue");
        assert_eq!(after.count("issues", "continued"), 0);
        assert_eq!(world.count(&format!("wakes where issue_id = '{issue}'")), 1);
    }

    /// The negative control: checking and inserting in one statement lets both insert.
    #[test]
    fn a_sweeper_that_checks_and_inserts_in_one_statement_doubles_the_wake() {
        let (mut world, agent, issue) = on_postgres();
        let mut rival = world.connect();
        world.run("begin");
        world.run(&insert_unless_pending(&issue, &agent));
        run(&mut rival, &insert_unless_pending(&issue, &agent));
        world.run("commit");

        assert_eq!(world.count(&format!("wakes where issue_id = '{issue}'")), 2);
    }

    #[test]
    fn a_pause_that_is_not_committed_yet_keeps_its_agent_from_being_woken() {
        let (mut world, agent, issue) = on_postgres();
        world.run(&format!("begin; update agents set status = 'paused' where id = '{agent}'"));
        let during = world.sweep();
        world.run("commit");
        let after = world.sweep();

        assert_eq!((during.outcome(&issue), after.outcome(&issue)), ("busy", "skipped"));
        assert_eq!(world.wakes_for(&issue), 0);
    }

    /// The negative control: if a sweep locks the issue but not the agent, the wake goes to a paused agent.
    #[test]
    fn a_sweeper_that_does_not_lock_the_agent_wakes_a_paused_one() {
        let (mut world, agent, issue) = on_postgres();
        let mut rival = world.connect();
        world.run(&format!("begin; update agents set status = 'paused' where id = '{agent}'"));
        run(&mut rival, &format!("begin; select from issues where id = '{issue}' for update skip locked"));
        run(&mut rival, &insert_unless_pending(&issue, &agent));
        run(&mut rival, "commit");
        world.run("commit");

        assert_eq!((world.status("agents", &agent).as_str(), world.wakes_for(&issue)), ("paused", 1));
    }

    /// The last bound: even if every lock failed, the ledger takes an attempt once.
    #[test]
    fn the_ledger_refuses_the_same_attempt_twice() {
        let (mut world, _, issue) = on_postgres();
        world.sweep();
        let again = format!(
            "insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, \
                settled_at)
             select gen_random_uuid(), sweep_id, kind, subject_id, action, reason, episode_began_at, attempt, now()
             from recoveries where subject_id = '{issue}'"
        );
        let refused = world.db.batch_execute(&again).expect_err("a second row of one attempt");
        assert!(refused.to_string().contains("recoveries_once"), "{refused}");
    }
}

/// P11: the sweep never makes its host a deadlock victim, since it never waits while it holds a lock.
mod deadlocks {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use crate::support::wait::SetAtEnd;

    /// A host that locks the agent first and its issue second: in this order a sweep that waits would deadlock.
    fn agent_then_issue(db: &mut Db, agent: &Id, issue: &Id) -> diesel::QueryResult<()> {
        let sql = format!(
            "begin; update agents set updated_at = now() where id = '{agent}'; select pg_sleep(0.002);
             update issues set title = 'Mended' where id = '{issue}'; commit"
        );
        db.batch_execute(&sql).inspect_err(|_| drop(db.batch_execute("rollback")))
    }

    #[test]
    fn a_host_that_locks_in_the_other_order_never_fails_while_sweeps_run() {
        let mut world = World::new(On::Postgres);
        let agent = world.agent("idle");
        let issues: Vec<Id> = (0..40).map(|_| world.orphan(&agent)).collect();
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _end = SetAtEnd(&over);
            for _ in 0..3 {
                let mut db = world.connect();
                let (over, issues, agent) = (&over, &issues, &agent);
                scope.spawn(move || {
                    while !over.load(Ordering::Relaxed) {
                        for issue in issues {
                            agent_then_issue(&mut db, agent, issue).expect("the host is never a victim");
                        }
                    }
                });
            }
            for _ in 0..20 {
                let swept = world.sweep_as(&Options { connections: 4, ..world.options() });
                assert_eq!(swept.count("issues", "failed"), 0, "{}", swept.json);
            }
        });
        world.sweep();
        for issue in &issues {
            assert_eq!(world.wakes_for(issue), 1);
        }
    }

    /// The negative control: a sweeper that waits for the agent while it holds the issue.
    #[test]
    fn a_sweeper_that_waits_for_its_second_lock_deadlocks_with_such_a_host() {
        let mut world = World::new(On::Postgres);
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let mut wrong = world.connect();
        run(&mut wrong, &format!("begin; select from issues where id = '{issue}' for update"));
        world.run(&format!("begin; update agents set updated_at = now() where id = '{agent}'"));
        let (sender, receiver) = channel();
        let lock_agent = format!("select from agents where id = '{agent}' for share");
        thread::spawn(move || sender.send(wrong.batch_execute(&lock_agent).map_err(|error| error.to_string())));
        let host = world.db.batch_execute(&format!("update issues set title = 'Mended' where id = '{issue}'"));
        let wrong = receiver.recv_timeout(Duration::from_secs(20)).expect("an answer");

        let victims: Vec<String> =
            [host.map_err(|error| error.to_string()), wrong].into_iter().filter_map(Result::err).collect();
        assert_eq!(victims.len(), 1, "{victims:?}");
        assert!(victims[0].contains("deadlock detected"), "{victims:?}");
    }
}
