//! A nominating view may name too many subjects, never too few: every combination of states is inserted, the rules are
//! asked about each, and the view must have named all that they would touch or report.

use sweep::rules::Id;
use sweep::rules::issue::IssueFacts;
use sweep::rules::step::StepFacts;

use crate::support::views_and_rules::{old_ledger_row, overlooked, touched};
use crate::support::world::{On, World, on_each_database, on_each_host};

/// A row in the ledger, as a sweep of half an hour ago left it.
fn ledger_row(world: &mut World, kind: &str, subject: &Id, action: &str, blocked: bool, settled: bool) {
    old_ledger_row(world, kind, subject, action, blocked, settled, 30);
}

/// Every status × assignee × run × wake × ledger × age.
pub fn every_issue(world: &mut World) -> Vec<Id> {
    world.run("begin");
    let agent = world.agent("idle");
    let mut issues = Vec::new();
    for status in ["in_progress", "blocked", "done"] {
        for assignment in ["assignee_user_id = null", "assignee_user_id = 'grace'", "assignee_agent_id = null"] {
            for run in [None, Some("failed"), Some("running"), Some("scheduled_retry")] {
                for wake in
                    [None, Some(("queued", 0)), Some(("queued", 5)), Some(("claimed", 300)), Some(("completed", 5))]
                {
                    for ledger in [
                        None,
                        Some(("continue", false)),
                        Some(("escalate", false)),
                        Some(("abandon", false)),
                        Some(("escalate", true)),
                        Some(("settled", false)),
                    ] {
                        for minutes in [0, 45] {
                            let issue = world.orphan(&agent);
                            let at = world.ago(minutes);
                            world.set(
                                "issues",
                                &issue,
                                &format!("status = '{status}', {assignment}, updated_at = {at}"),
                            );
                            if let Some(run) = run {
                                world.issue_run(&issue, &agent, run, 50);
                            }
                            if let Some((wake, minutes)) = wake {
                                world.issue_wake(&issue, &agent, wake, minutes);
                            }
                            match ledger {
                                Some(("settled", _)) => ledger_row(world, "issue", &issue, "continue", false, true),
                                Some((action, blocked)) => ledger_row(world, "issue", &issue, action, blocked, false),
                                None => {}
                            }
                            issues.push(issue);
                        }
                    }
                }
            }
        }
    }
    world.run("commit");
    issues
}

/// Every status of step and plan × run × wake × ledger × age.
pub fn every_step(world: &mut World) -> Vec<Id> {
    world.run("begin");
    let agent = world.agent("idle");
    let mut steps = Vec::new();
    for status in ["pending", "in_progress", "completed", "skipped", "failed"] {
        for plan_status in ["draft", "executing", "stalled", "completed", "cancelled"] {
            for run in [None, Some("failed"), Some("running")] {
                for wake in [None, Some(("queued", 0)), Some(("queued", 5)), Some(("claimed", 300))] {
                    for ledger in [None, Some("continue"), Some("escalate"), Some("abandon")] {
                        for minutes in [5, 300] {
                            let (plan, step) = world.stalled_step(Some(&agent));
                            let at = world.ago(minutes);
                            world.set("plans", &plan, &format!("status = '{plan_status}'"));
                            world.set("plan_steps", &step, &format!("status = '{status}', started_at = {at}"));
                            if let Some(run) = run {
                                let id = Id::generate();
                                world.run(&format!(
                                    "insert into runs (id, agent_id, plan_step_id, status) values \
                                    ('{id}', '{agent}', '{step}', '{run}')"
                                ));
                            }
                            if let Some((wake, minutes)) = wake {
                                let (id, at) = (Id::generate(), world.ago(minutes));
                                world.run(&format!(
                                    "insert into wakes (id, agent_id, plan_step_id, reason, requested_by, status, \
                                        created_at)
                                     values ('{id}', '{agent}', '{step}', 'x', 'host', '{wake}', {at})"
                                ));
                            }
                            if let Some(action) = ledger {
                                ledger_row(world, "step", &step, action, false, false);
                            }
                            steps.push(step);
                        }
                    }
                }
            }
        }
    }
    world.run("commit");
    steps
}

on_each_host! {
    fn the_candidates_name_every_issue_that_the_rules_would_touch(world) {
        let issues = every_issue(world);
        assert_eq!(issues.len(), 3 * 3 * 4 * 5 * 6 * 2);
        assert_eq!(overlooked::<IssueFacts>(world, &touched::<IssueFacts>(world, &issues)), []);
    }

    fn a_view_that_forgets_a_kind_of_candidate_is_caught(world) {
        let issues = every_issue(world);
        let touched = touched::<IssueFacts>(world, &issues);
        for forgotten in ["select subject_id, group_id, since from unattended_issues",
                          "select i.id as subject_id, i.id as group_id, i.updated_at as since
                           from recoveries r join issues i on i.id = r.subject_id where r.settled_at is null"] {
            let schema = if world.on == On::Sqlite { "" } else { "sweep." };
            world.run(&format!("drop view {schema}issue_candidates"));
            world.run(&format!("create view {schema}issue_candidates as {forgotten}"));
            assert_ne!(overlooked::<IssueFacts>(world, &touched), []);
        }
    }
}

mod steps {
    use super::*;

    on_each_database! {
        fn the_candidates_name_every_step_that_the_rules_would_touch(world) {
            let steps = every_step(world);
            assert_eq!(overlooked::<StepFacts>(world, &touched::<StepFacts>(world, &steps)), []);
        }
    }
}
