//! What the server asks before it starts a run, and a run of sweep's would be cancelled for: a wait, with its reason.

use super::{one_sweep_leaves_each, orphan};
use crate::support::world::{On, World};

/// The agent of `:i` gets this configuration of its heartbeat.
fn configured(heartbeat: &str) -> String {
    let agent = "(select assignee_agent_id from issues where id = ':i')";
    format!("update agents set runtime_config = '{{\"heartbeat\": {heartbeat}}}' where id = {agent};")
}

/// A run of the agent of `:i`, on another issue, that started at this time.
fn ran(at: &str) -> String {
    format!(
        "insert into heartbeat_runs (company_id, agent_id, status, created_at, started_at, finished_at)
         select company_id, assignee_agent_id, 'succeeded', {at}, {at}, {at} from issues where id = ':i';"
    )
}

/// The agent of `:i` reports to a new one, with this status, who reports to the manager given.
fn reports_to(status: &str, manager: &str) -> String {
    format!(
        "with manager as (insert into agents (company_id, name, status, reports_to)
                          values (':c', 'Max', '{status}', {manager}) returning id)
         update agents set reports_to = manager.id from manager
         where agents.id = (select assignee_agent_id from issues where id = ':i');"
    )
}

/// `:i` belongs to a project that is paused for this reason.
fn in_project(pause_reason: &str) -> String {
    format!(
        "with project as (insert into projects (company_id, name, paused_at, pause_reason)
                          values (':c', 'Fence', now(), '{pause_reason}') returning id)
         update issues set project_id = project.id from project where issues.id = ':i';"
    )
}

const THIS_DAY: &str = "statement_timestamp()";

fn cost(cents: u32) -> String {
    format!(
        "insert into cost_events (company_id, agent_id, provider, model, cost_cents, occurred_at)
         select company_id, assignee_agent_id, 'x', 'x', {cents}, {THIS_DAY} from issues where id = ':i';"
    )
}

#[test]
fn an_issue_whose_run_the_server_would_not_start_waits_and_says_why() {
    let itself = "(select assignee_agent_id from issues where id = ':i')";
    let gates = [
        (in_project("budget"), "its project is stopped by its budget: Fence"),
        (configured(r#"{"wakeOnDemand": false}"#), "woken neither on demand nor by a timer"),
        (configured(r#"{"wakeOnDemand": null, "wakeOnAssignment": false, "enabled": true}"#), "by its timer alone"),
        (configured(r#"{"maxDailyRuns": 2}"#) + &ran(THIS_DAY) + &ran(THIS_DAY), "used up its 2 runs of the day"),
        (configured(r#"{"dailyRunCap": 0}"#), "its agent may have no runs"),
        (configured(r#"{"maxDailyRuns": "5"}"#), "its agent may have no runs"),
        (configured(r#"{"maxDailyCostCents": 300.7}"#) + &cost(300), "used up its budget of the day"),
        (configured(r#"{"maxDailyRuns": 1e400}"#), "its agent may have no runs"),
        (configured(r#"{"maxDailyCostCents": 0.5}"#), "its agent may spend nothing"),
        (reports_to("terminated", "null"), "a manager of its agent is terminated or missing, or is below it"),
        (reports_to("idle", itself), "a manager of its agent is terminated or missing, or is below it"),
        (
            "alter table agents disable trigger all; update agents set reports_to = gen_random_uuid()
             where id = (select assignee_agent_id from issues where id = ':i'); alter table agents enable trigger all"
                .to_owned(),
            "a manager of its agent is terminated or missing, or is below it",
        ),
        (
            "update agents set runtime_config = (select jsonb_build_object('x', string_agg(md5(n::text), ''))
                                                 from generate_series(1, 20000) n)
             where id = (select assignee_agent_id from issues where id = ':i')"
                .to_owned(),
            "the configuration of its agent is too large to look at",
        ),
    ];
    let gates: Vec<(&str, &str)> = gates.iter().map(|(statement, word)| (statement.as_str(), *word)).collect();
    one_sweep_leaves_each(&gates, "waiting");
}

/// What looks like a gate, and is none to the server.
#[test]
fn an_issue_whose_run_the_server_would_start_is_continued() {
    let open = [
        in_project("manual"),
        configured(r#"{"wakeOnDemand": "false"}"#),
        configured(r#"{"wakeOnDemand": true, "wakeOnAssignment": false}"#),
        configured(r#"{"maxDailyRuns": 2}"#) + &ran(THIS_DAY) + &ran("now() - interval '24 hours'"),
        configured(r#"{"maxDailyRuns": -1, "maxDailyCostCents": ""}"#),
        configured(r#"{"maxDailyCostCents": 300}"#) + &cost(299),
        configured("[1]"),
        reports_to("paused", "null"),
    ];
    let mut world = World::new(On::Paperclip);
    let issues = open.each_ref().map(|statement| {
        let company = world.begin_another_company();
        let (issue, _) = orphan(&mut world);
        world.run(&statement.replace(":c", &company.0).replace(":i", &issue.0));
        issue
    });
    let swept = world.sweep();
    for (statement, issue) in open.iter().zip(&issues) {
        assert_eq!(swept.outcome(issue), "continued", "{statement}: {}", swept.subject(issue));
    }
}

/// The project in a run's context tells the server whose budget it has to ask for when it starts the run.
#[test]
fn a_run_of_sweeps_names_the_project_of_its_issue() {
    let mut world = World::new(On::Paperclip);
    let company = world.begin_another_company();
    let (issue, _) = orphan(&mut world);
    world.run(&in_project("manual").replace(":c", &company.0).replace(":i", &issue.0));
    world.sweep();
    let project = world.text("project_id::text", &format!("issues where id = '{issue}'"));
    let named = world.text("context_snapshot ->> 'projectId'", "heartbeat_runs where status = 'queued'");
    assert!(project.is_some() && named == project, "{named:?} is not {project:?}");
}
