//! The views of the states of all subjects agree with the rules: both are asked about every combination.

use std::collections::BTreeMap;

use serde_json::json;
use sweep::rules::Id;
use sweep::rules::board::{BoardState, Vocabulary};
use sweep::rules::issue::IssueFacts;
use sweep::rules::step::StepFacts;

use crate::kinds::candidate_views::{every_issue, every_step};
use crate::support::views_and_rules::{decided, exempt, states, viewed};
use crate::support::views_and_rules::{exempt_combinations, old_ledger_rows, settled_escalations};
use crate::support::world::combinations::Choice;
use crate::support::world::{On, World, on_each_database, on_each_host};

mod exemptions;
mod false_rescues;
mod limits;

/// The issues that sweep blocked and nobody took back, as the view shows them: the rules leave them.
fn blocked(world: &mut World) -> BTreeMap<Id, String> {
    let blocked = "issues i join recoveries r on r.subject_id = i.id
                   where i.status = 'blocked' and r.blocked_subject and r.settled_at is null";
    states(world, "i.id", "'escalated'", blocked)
}

/// No exemption; one that holds until it is removed, one that has expired, and one that holds for some minutes more.
const EXEMPTIONS: Choice = ("is_exempt, until_minutes", "(false, null), (true, null), (true, 10), (true, -10)");

/// The open row of the ledger, and the number of settled escalations of the day.
const LEDGERS: Choice = (
    "action, escalations",
    "(null, 0), ('continue', 0), ('escalate', 0), ('abandon', 0), (null, 3), (null, 4), ('continue', 4)",
);

/// Makes old issues in progress of every status of the agent × exemption × wait × ledger × escalations of the day.
fn every_old_issue(world: &mut World) -> Vec<Id> {
    world.run("begin");
    let agents: Vec<String> = ["active", "idle", "error", "paused", "terminated"]
        .map(|status| {
            let agent = world.agent(status);
            if world.on == On::Sqlite { format!("('{agent}')") } else { format!("(cast('{agent}' as uuid))") }
        })
        .into();
    let agents = agents.join(", ");
    let choices = [("assignee", agents.as_str()), EXEMPTIONS, ("waits", "(false), (true)"), LEDGERS];
    let issues = world.combine(2, &choices);
    world.fill_issues("O", "subject_id", "'in_progress'", "assignee");
    let column = if world.on == On::Paperclip { "monitor_next_check_at" } else { "wait_until" };
    let tomorrow = world.ago(-1440);
    world.run(&format!(
        "update issues set {column} = {tomorrow} where id in (select subject_id from combinations where waits)"
    ));
    history(world, "issue");
    world.run("commit");
    issues
}

/// Makes steps in progress of every status of the agent, or none × exemption × ledger × threshold.
fn every_old_step(world: &mut World) -> Vec<Id> {
    world.run("begin");
    let agents = ("agent_status", "('idle'), ('running'), ('paused'), (null)");
    let steps = world.combine(2, &[agents, EXEMPTIONS, LEDGERS, ("threshold", "(null), (60), (86400)")]);
    let agent = [("id", "agent_id"), ("name", "'Ada'"), ("status", "agent_status")];
    world.fill("agents", &agent, "combinations where agent_status is not null");
    world.fill_steps("case when agent_status is not null then agent_id end");
    world.run("update plan_steps set stalled_after_seconds = threshold from combinations where id = subject_id");
    history(world, "step");
    world.run("commit");
    steps
}

/// Inserts the exemption of each combination, its settled escalations, and its open action.
fn history(world: &mut World, kind: &str) {
    exempt_combinations(world, kind);
    settled_escalations(world, kind, 100);
    old_ledger_rows(world, kind, ["action", "false", "false", "30"], "action is not null");
}

/// A reason that no view names would show its subjects in another state than the rules have.
#[test]
fn the_views_name_every_reason_of_the_rules() {
    let vocabulary = json!(Vocabulary::of_the_rules());
    let reasons = vocabulary["reasons"].as_object().expect("reasons");
    assert!(12 < reasons.len() && reasons.contains_key("host_plan"), "{reasons:?}");
    for sql in [include_str!("../../../docs/schema/sqlite.sql"), include_str!("../../../docs/schema/postgres.sql")] {
        let unnamed: Vec<_> = reasons.keys().filter(|reason| !sql.contains(&format!("'{reason}'"))).collect();
        assert!(unnamed.is_empty(), "the views do not name {unnamed:?}");
    }
}

on_each_host! {
    fn the_view_says_of_every_issue_what_the_rules_decide(world) {
        let mut issues = every_issue(world);
        issues.extend(every_old_issue(world));
        assert_eq!(issues.len(), 3 * 3 * 7 * 5 * 6 * 2 + 5 * 4 * 2 * 7);

        let mut expected = decided::<IssueFacts>(world, &issues, BoardState::Orphaned);
        expected.extend(blocked(world));

        assert_eq!(viewed(world, "issue_work_state"), expected);
        for state in ["active", "queued", "waiting", "exempt", "skipped", "escalated", "orphaned"] {
            assert!(expected.values().any(|known| known == state), "{state} does not occur");
        }
    }

    /// The control: a difference would be found.
    fn a_view_that_forgets_a_rule_is_caught(world) {
        let issues = every_old_issue(world);
        let expected = decided::<IssueFacts>(world, &issues, BoardState::Orphaned);
        assert_eq!(viewed(world, "issue_work_state"), expected);
        world.run("delete from exemptions where until is null");
        assert_ne!(viewed(world, "issue_work_state"), expected);
    }

    fn the_words_and_the_time_are_those_of_the_state(world) {
        let (agent, paused) = (world.agent("idle"), world.agent("paused"));
        let (orphan, live, queued, stuck) =
            (world.orphan(&agent), world.orphan(&agent), world.orphan(&agent), world.orphan(&agent));
        let (exempted, skipped) = (world.orphan(&agent), world.orphan(&paused));
        world.issue_run(&live, &agent, "running", 5);
        world.issue_wake(&queued, &agent, "queued", 5);
        let wake = world.issue_wake(&stuck, &agent, "queued", 300);
        exempt(world, "issue", &exempted, None);

        let mut detail =
            |id: &Id| world.text("detail", &format!("issue_work_state where subject_id = '{id}'")).expect("words");

        assert_eq!(detail(&orphan), "nobody is working on it");
        assert_eq!(detail(&live), "a run is live");
        assert_eq!(detail(&queued), "a wake is queued");
        assert_eq!(detail(&stuck), "stuck wake");
        assert_eq!(detail(&exempted), "on purpose");
        assert_eq!(detail(&skipped), "Ada is paused");
        let wakes = if world.on == On::Paperclip { "agent_wakeup_requests" } else { "wakes" };
        let of_the_wake = world.text("created_at", &format!("{wakes} where id = '{wake}'"));
        assert_eq!(world.text("since", &format!("issue_work_state where subject_id = '{stuck}'")), of_the_wake);
        let of_the_issue = world.text("updated_at", &format!("issues where id = '{orphan}'"));
        assert_eq!(world.text("since", &format!("issue_work_state where subject_id = '{orphan}'")), of_the_issue);
    }

    fn an_issue_that_sweep_blocked_is_escalated_until_a_person_takes_it_back(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);
        let row = format!("issue_work_state where subject_id = '{issue}'");

        assert_eq!(world.text("state || ': ' || detail", &row).as_deref(), Some("escalated: no attempt is left"));
        let reported =
            world.text("created_at", &format!("recoveries where subject_id = '{issue}' and action = 'escalate'"));
        assert_eq!(world.text("since", &row), reported);
        world.set("issues", &issue, "status = 'todo'");
        assert_eq!(world.count(&row), 0);
    }
}

mod steps {
    use super::*;

    on_each_database! {
        fn the_view_says_of_every_step_what_the_rules_decide(world) {
            let mut steps = every_step(world);
            steps.extend(every_old_step(world));
            assert_eq!(steps.len(), 5 * 5 * 5 * 4 * 4 * 2 + 4 * 4 * 7 * 3);

            let expected = decided::<StepFacts>(world, &steps, BoardState::Stalled);

            assert_eq!(viewed(world, "step_work_state"), expected);
            for state in ["active", "queued", "exempt", "skipped", "escalated", "stalled"] {
                assert!(expected.values().any(|known| known == state), "{state} does not occur");
            }
        }
    }
}
