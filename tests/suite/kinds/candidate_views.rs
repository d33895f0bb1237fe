//! A view of candidates may name too many subjects, never too few. Every combination of states is inserted, the rules
//! decide each, and the view must name all that they would touch or report.

use sweep::rules::Id;
use sweep::rules::issue::IssueFacts;
use sweep::rules::step::StepFacts;

use crate::support::views_and_rules::{assert_read_alike, old_ledger_rows, overlooked, touched};
use crate::support::world::{On, World, on_each_database, on_each_host};

/// Makes issues of every status × assignee × run × wake × ledger × age.
pub fn every_issue(world: &mut World) -> Vec<Id> {
    world.run("begin");
    let agent = format!("'{}'", world.agent("idle"));
    let issues = world.combine(
        1,
        &[
            ("status", "('in_progress'), ('blocked'), ('done')"),
            ("assignee", "('its agent'), ('a person too'), ('nobody')"),
            (
                "run, heard_minutes, lease",
                "(null, null, null), ('failed', null, null), ('running', null, null), ('scheduled_retry', null, null),
                 ('running', 10, null), ('running', 70, null), ('running', 10, 300)",
            ),
            ("wake, wake_minutes", "(null, null), ('queued', 0), ('queued', 5), ('claimed', 300), ('completed', 5)"),
            (
                "action, blocked, settled",
                "(null, false, false), ('continue', false, false), ('escalate', false, false),
                 ('abandon', false, false), ('escalate', true, false), ('continue', false, true)",
            ),
            ("minutes", "(0), (45)"),
        ],
    );
    world.fill_issues("T", "subject_id", "status", &agent);
    let (at, run_at, wake_at) = (world.ago("minutes"), world.ago(80), world.ago("wake_minutes"));
    let heard_at = world.ago("heard_minutes");
    world.run(&format!(
        "update issues set updated_at = {at} from combinations where id = subject_id;
         update issues set assignee_user_id = 'grace'
         where id in (select subject_id from combinations where assignee = 'a person too');
         update issues set assignee_agent_id = null
         where id in (select subject_id from combinations where assignee = 'nobody')"
    ));
    let with_run = "combinations where run is not null";
    let with_wake = "combinations where wake is not null";
    let of_agent = ("agent_id", agent.as_str());
    if world.on == On::Paperclip {
        let context = "jsonb_build_object('issueId', subject_id)";
        let run = [of_agent, ("status", "run"), ("context_snapshot", context), ("created_at", &run_at)];
        world.fill("heartbeat_runs", &run, with_run);
        let source = ("source", "'assignment'");
        let wake = [of_agent, source, ("status", "wake"), ("payload", context), ("created_at", &wake_at)];
        world.fill("agent_wakeup_requests", &wake, with_wake);
    } else {
        let (id, of_issue) = (("id", world.new_id()), ("issue_id", "subject_id"));
        let [life, lease] = [("heartbeat_at", heard_at.as_str()), ("lease_seconds", "lease")];
        let run = [id, of_agent, of_issue, ("status", "run"), ("created_at", &run_at), life, lease];
        world.fill("runs", &run, with_run);
        let why = [("reason", "'assigned'"), ("requested_by", "'host'")];
        let wake = [id, of_agent, of_issue, why[0], why[1], ("status", "wake"), ("created_at", &wake_at)];
        world.fill("wakes", &wake, with_wake);
    }
    old_ledger_rows(world, "issue", ["action", "blocked", "settled", "30"], "action is not null");
    world.run("commit");
    issues
}

/// Makes steps of every status of step and plan × run × wake × ledger × age.
pub fn every_step(world: &mut World) -> Vec<Id> {
    world.run("begin");
    let agent = format!("'{}'", world.agent("idle"));
    let steps = world.combine(
        1,
        &[
            ("status", "('pending'), ('in_progress'), ('completed'), ('skipped'), ('failed')"),
            ("plan_status", "('draft'), ('executing'), ('stalled'), ('completed'), ('cancelled')"),
            (
                "run, heard_minutes, lease",
                "(null, null, null), ('failed', null, null), ('running', null, null), ('running', 70, null),
                 ('running', 10, 300)",
            ),
            ("wake, wake_minutes", "(null, null), ('queued', 0), ('queued', 5), ('claimed', 300)"),
            ("action", "(null), ('continue'), ('escalate'), ('abandon')"),
            ("minutes", "(5), (300)"),
        ],
    );
    world.fill_steps(&agent);
    let (at, wake_at, heard_at) = (world.ago("minutes"), world.ago("wake_minutes"), world.ago("heard_minutes"));
    world.run(&format!(
        "update plans set status = plan_status from combinations where id = plan_id;
         update plan_steps set status = c.status, started_at = {at} from combinations c where id = subject_id"
    ));
    let (id, of_agent, of_step) =
        (("id", world.new_id()), ("agent_id", agent.as_str()), ("plan_step_id", "subject_id"));
    let [life, lease] = [("heartbeat_at", heard_at.as_str()), ("lease_seconds", "lease")];
    let run = [id, of_agent, of_step, ("status", "run"), life, lease];
    world.fill("runs", &run, "combinations where run is not null");
    let why = [("reason", "'x'"), ("requested_by", "'host'")];
    let wake = [id, of_agent, of_step, why[0], why[1], ("status", "wake"), ("created_at", &wake_at)];
    world.fill("wakes", &wake, "combinations where wake is not null");
    old_ledger_rows(world, "step", ["action", "false", "false", "30"], "action is not null");
    world.run("commit");
    steps
}

on_each_host! {
    fn the_candidates_name_every_issue_that_the_rules_would_touch(world) {
        let issues = every_issue(world);
        assert_eq!(issues.len(), 3 * 3 * 7 * 5 * 6 * 2);
        assert_eq!(overlooked::<IssueFacts>(world, &touched::<IssueFacts>(world, &issues)), []);
        assert_read_alike::<IssueFacts>(world, &issues);
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
            assert_eq!(steps.len(), 5 * 5 * 5 * 4 * 4 * 2);
            assert_eq!(overlooked::<StepFacts>(world, &touched::<StepFacts>(world, &steps)), []);
            assert_read_alike::<StepFacts>(world, &steps);
        }
    }
}
