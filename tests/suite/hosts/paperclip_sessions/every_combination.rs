//! Every combination of run, issue, agent and ledger: the candidates name all that the rules would touch, and the view
//! for boards says what the rules decide.

use sweep::rules::Id;
use sweep::rules::session::SessionFacts;

use crate::support::views_and_rules::{assert_read_alike, decided, exempt, viewed};
use crate::support::views_and_rules::{old_ledger_rows, overlooked, settled_escalations, touched};
use crate::support::world::combinations::Choice;
use crate::support::world::{On, World};

/// Minutes since the creation of a run, and since its last sign of life.
const AGES: Choice = ("minutes, quiet_minutes", "(180, 120), (180, 40), (180, -5), (0, 0)");

/// What the ledger holds: the open row and its age in minutes, and escalations that are settled.
const LEDGERS: Choice = (
    "action, ledger_minutes, escalations",
    "(null, null, 0), ('escalate', 30, 0), ('escalate', 150, 0), ('continue', 30, 0), (null, null, 3),
     (null, null, 4), ('escalate', 150, 4)",
);

const STATUSES: Choice =
    ("status", "('running'), ('queued'), ('scheduled_retry'), ('succeeded'), ('timed_out'), ('active')");

const ISSUES: [&str; 5] = [
    "status = 'in_progress'", "status = 'blocked'", "status = 'done'", "status = 'done', hidden_at = now()",
    "hidden_at = now()",
];

/// Every status × age × ledger × issue × agent, and what is exempt.
fn every_run(world: &mut World) -> Vec<Id> {
    world.run("begin");
    let mut assignments = Vec::new();
    for agent in ["idle", "paused", "terminated"].map(|status| world.agent(status)) {
        for change in ISSUES {
            let issue = world.orphan(&agent);
            world.set("issues", &issue, change);
            assignments.push((agent.clone(), Some(issue)));
        }
        assignments.push((agent, None));
    }
    let values: Vec<String> = assignments
        .iter()
        .map(|(agent, issue)| {
            let issue = issue.as_ref().map_or("null".to_owned(), |issue| format!("uuid '{issue}'"));
            format!("(uuid '{agent}', {issue})")
        })
        .collect();
    let mut runs = world.combine(1, &[("assignee, issue", &values.join(", ")), STATUSES, AGES, LEDGERS]);
    let (created, quiet) = (world.ago("minutes"), world.ago("quiet_minutes"));
    let run = [
        ("id", "subject_id"),
        ("agent_id", "assignee"),
        ("status", "status"),
        ("invocation_source", "'timer'"),
        ("context_snapshot", "jsonb_strip_nulls(jsonb_build_object('issueId', issue))"),
        ("created_at", &created),
        ("started_at", &created),
        ("updated_at", &quiet),
    ];
    world.fill("heartbeat_runs", &run, "combinations");
    settled_escalations(world, "session", 200);
    old_ledger_rows(world, "session", ["action", "false", "false", "ledger_minutes"], "action is not null");
    for (agent, issue) in &assignments {
        for until in [None, Some(10), Some(-10)] {
            let run = world.silent_run(agent, issue.as_ref());
            exempt(world, "session", &run, until);
            runs.push(run);
        }
    }
    world.run("commit");
    runs
}

#[test]
fn the_candidates_name_every_run_that_the_rules_would_touch() {
    let mut world = World::new(On::Paperclip);
    let runs = every_run(&mut world);
    assert_eq!(runs.len(), 3 * (6 * 6 * 4 * 7 + 6 * 3));
    let touched = touched::<SessionFacts>(&world, &runs);
    assert_eq!(overlooked::<SessionFacts>(&world, &touched), []);
    assert_read_alike::<SessionFacts>(&world, &runs);

    for forgotten in [
        "select subject_id, group_id, since, tenant from unattended_sessions",
        "select s.id as subject_id, s.agent_id as group_id, s.last_sign_at as since, s.company_id::text as tenant
         from recoveries r join sessions s on s.id = r.subject_id where r.settled_at is null",
    ] {
        world.run("drop view sweep.session_candidates");
        world.run(&format!("create view sweep.session_candidates as {forgotten}"));
        assert_ne!(overlooked::<SessionFacts>(&world, &touched), [], "the control: {forgotten}");
    }
}

#[test]
fn the_view_says_of_every_run_what_the_rules_decide() {
    let mut world = World::new(On::Paperclip);
    let runs = every_run(&mut world);

    let expected = decided::<SessionFacts>(&world, &runs, sweep::rules::board::BoardState::Silent);

    let seen = viewed(&mut world, "session_work_state");
    let differences: Vec<_> = runs.iter().filter(|id| expected.get(*id) != seen.get(*id)).collect();
    let shown: Vec<_> = differences.iter().take(5).map(|id| (id, expected.get(*id), seen.get(*id))).collect();
    assert!(differences.is_empty(), "{} of {}: {shown:?}", differences.len(), runs.len());
    for state in ["active", "waiting", "exempt", "skipped", "escalated", "silent"] {
        assert!(expected.values().any(|known| known == state), "{state} does not occur");
    }
    world.run("delete from sweep.exemptions where until is null");
    assert_ne!(viewed(&mut world, "session_work_state"), expected, "the control");
}

#[test]
fn the_threshold_of_the_view_is_that_of_the_latest_sweep() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    world.silent_run(&agent, None);
    let state = |world: &mut World| world.text("state", "sweep.session_work_state");
    assert_eq!(state(&mut world).as_deref(), Some("silent"));
    for (seconds, expected) in [("86400", "active"), ("60", "silent")] {
        world.run(&format!("update sweep.policy set run_silent_after_seconds = {seconds}"));
        assert_eq!(state(&mut world).as_deref(), Some(expected), "{seconds}");
    }
}
