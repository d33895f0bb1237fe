//! P2: a sweep does not touch a subject whose state changed after the scan.

use sweep::rules::issue::IssueFacts;
use sweep::rules::{Decision, Id, Policy, decide};
use sweep::store::work::candidates::{Nominated, Part};
use sweep::store::{Access, Subject, Timeouts};

use crate::support::in_process::{examine_by, wake};
use crate::support::world::{On, World, on_each_host};

/// A change of an issue: its name, and what makes it.
type Change = (&'static str, Box<dyn Fn(&mut World)>);

/// The changes that may happen between the scan and the transaction: one for each column that a rule reads.
fn changes(world: &mut World, issue: &Id, agent: &Id) -> Vec<Change> {
    let (issue, agent, paused) = (issue.clone(), agent.clone(), world.agent("paused"));
    let (now, tomorrow) = (world.ago(0), world.ago(-1440));
    let set = |assignment: String| -> Box<dyn Fn(&mut World)> {
        let issue = issue.clone();
        Box::new(move |world| world.set("issues", &issue, &assignment))
    };
    let mut changes: Vec<Change> = vec![
        ("finished", set("status = 'done'".to_owned())),
        ("blocked", set("status = 'blocked'".to_owned())),
        ("given to a person", set("assignee_user_id = 'grace'".to_owned())),
        ("unassigned", set("assignee_agent_id = null".to_owned())),
        ("given to a paused agent", set(format!("assignee_agent_id = '{paused}'"))),
        ("touched", set(format!("updated_at = {now}"))),
    ];
    let (of, by) = (issue.clone(), agent.clone());
    changes.push(("started", Box::new(move |world| drop(world.issue_run(&of, &by, "running", 0)))));
    let (of, by) = (issue.clone(), agent.clone());
    changes.push(("a run ended", Box::new(move |world| drop(world.issue_run(&of, &by, "failed", 0)))));
    let (of, by) = (issue.clone(), agent.clone());
    changes.push(("woken", Box::new(move |world| drop(world.issue_wake(&of, &by, "queued", 0)))));
    let by = agent.clone();
    changes.push(("its agent was paused", Box::new(move |world| world.set("agents", &by, "status = 'paused'"))));
    match world.on {
        On::Paperclip => {
            changes.push(("a monitor was set", set(format!("monitor_next_check_at = {tomorrow}"))));
            changes.push(("hidden", set(format!("hidden_at = {now}"))));
            let of = issue.clone();
            changes.push((
                "blocked by another",
                Box::new(move |world| {
                    world.run(&format!(
                        "insert into issue_relations (company_id, issue_id, related_issue_id, type)
                     select i.company_id, b.id, i.id, 'blocks' from issues i, issues b
                     where i.id = '{of}' and b.id <> i.id and b.status not in ('done', 'cancelled') limit 1"
                    ));
                }),
            ));
            // The last one, since it holds for all that follow.
            changes.push((
                "its company was paused",
                Box::new(|world| world.run("update companies set status = 'paused'")),
            ));
        }
        On::Postgres | On::Sqlite => {
            changes.push(("it waits until tomorrow", set(format!("wait_until = {tomorrow}"))));
            changes.push(("it waits for an approval", set("waiting_for = 'approval'".to_owned())));
            let (of, by) = (issue.clone(), agent.clone());
            changes.push((
                "checked out by a run of no issue",
                Box::new(move |world| {
                    let run = Id::generate();
                    world.run(&format!("insert into runs (id, agent_id, status) values ('{run}', '{by}', 'running')"));
                    world.set("issues", &of, &format!("checkout_run_id = '{run}'"));
                }),
            ));
        }
    }
    changes
}

/// An orphan that the scan has named, and a change.
fn raced(world: &mut World, index: usize) -> Option<(Id, Id, &'static str)> {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let scan = |db: &mut sweep::store::Db| IssueFacts::candidates(db, &Part::whole(), 1000);
    let named =
        world.connect_as_sweep().in_transaction(Access::ReadOnly, &Timeouts::default(), scan).expect("candidates");
    assert!(named.iter().any(|candidate| candidate.id == issue));
    let mut changes = changes(world, &issue, &agent);
    if changes.len() <= index {
        return None;
    }
    let (what, change) = changes.swap_remove(index);
    change(world);
    Some((issue, agent, what))
}

on_each_host! {
    fn an_issue_that_changed_after_the_scan_is_left_alone(world) {
        let mut db = world.connect_as_sweep();
        let mut index = 0;
        while let Some((issue, _, what)) = raced(world, index) {
            let done = examine_by::<IssueFacts>(&mut db, &issue, &Policy::default());
            assert!(!done.is_change(), "{what}: {done}");
            assert_eq!(world.wakes_for(&issue) + world.comments_on(&issue), 0, "{what}");
            index += 1;
        }
        assert!(11 <= index);
    }

    fn an_issue_that_changed_before_its_escalation_is_neither_blocked_nor_commented(world) {
        let mut db = world.connect_as_sweep();
        let spent = Policy { attempts_max: 0, ..Policy::default() };
        let mut index = 0;
        while let Some((issue, _, what)) = raced(world, index) {
            let before = world.status("issues", &issue);
            examine_by::<IssueFacts>(&mut db, &issue, &spent);
            assert_eq!((world.status("issues", &issue), world.comments_on(&issue)), (before, 0), "{what}");
            index += 1;
        }
    }

    /// The negative control: a sweeper that trusts the scan acts on every changed issue, and the check catches it.
    fn a_sweeper_that_trusted_its_scan_would_be_caught(world) {
        let mut db = world.connect_as_sweep();
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let read = |db: &mut sweep::store::Db| IssueFacts::read(db, &issue);
        let seen = db.in_transaction(Access::ReadOnly, &Timeouts::default(), read).expect("a read").expect("facts");
        world.set("issues", &issue, "status = 'done'");

        assert!(matches!(decide(&seen, &Policy::default()).decision, Decision::Continue { .. }));
        let write = |db: &mut sweep::store::Db| wake(db, &seen);
        db.in_transaction(Access::Write, &Timeouts::default(), write).expect("a write");

        assert_eq!(world.wakes_for(&issue), 1, "a wake on a finished issue");
    }
}

mod steps {
    use super::*;
    use crate::support::in_process::examine_by;
    use crate::support::world::on_each_database;
    use sweep::rules::step::StepFacts;

    /// One change for each column that the rule for a step reads; `:s` the step, `:p` its plan, `:a` its agent.
    const CHANGES: [(&str, &str); 8] = [
        ("finished", "update plan_steps set status = 'completed' where id = ':s'"),
        ("restarted", "update plan_steps set started_at = :now where id = ':s'"),
        ("given more time", "update plan_steps set stalled_after_seconds = 999999 where id = ':s'"),
        ("its plan was given more time", "update plans set stalled_after_seconds = 999999 where id = ':p'"),
        ("its plan was cancelled", "update plans set status = 'cancelled' where id = ':p'"),
        ("its agent was paused", "update agents set status = 'paused' where id = ':a'"),
        ("started", "insert into runs (id, agent_id, plan_step_id, status) values (':id', ':a', ':s', 'running')"),
        (
            "woken",
            "insert into wakes (id, agent_id, plan_step_id, reason, requested_by) values (':id', ':a', ':s', 'x', \
                'host')",
        ),
    ];

    on_each_database! {
        fn a_step_that_changed_after_the_scan_is_left_alone(world) {
            let mut db = world.connect_as_sweep();
            for (what, change) in CHANGES {
                let agent = world.agent("idle");
                let (plan, step) = world.stalled_step(Some(&agent));
                let now = world.ago(0);
                let change = change.replace(":s", &step.0).replace(":p", &plan.0).replace(":a", &agent.0);
                world.run(&change.replace(":now", &now).replace(":id", &Id::generate().0));
                let before = world.status("plans", &plan);

                let done = examine_by::<StepFacts>(&mut db, &step, &Policy::default());

                assert!(!done.is_change(), "{what}: {done}");
                assert_eq!((world.wakes_for(&step), world.status("plans", &plan)), (0, before), "{what}");
            }
        }
    }
}
