//! What is to do, has an agent, and nothing will start: shown to people, started by them, and left alone by sweeps.

use sweep::rules::{Id, Kind};

use super::orphan;
use crate::requests::{ask, refused};
use crate::support::receiver::Receiver;
use crate::support::world::{On, World};

/// An issue that is to do, and its agent.
fn to_do(world: &mut World) -> (Id, Id) {
    let (issue, agent) = orphan(world);
    world.set("issues", &issue, "status = 'todo'");
    (issue, agent)
}

/// A wake of `:i` that the server answered with this status, ten minutes ago.
fn wake(status: &str, further: &str) -> String {
    format!(
        "insert into agent_wakeup_requests (company_id, agent_id, source, status, payload, created_at{further_columns})
         select ':c', ':a', 'on_demand', '{status}', '{{\"issueId\": \":i\"}}', now() - interval '10 minutes'
                {further};",
        further_columns = if further.is_empty() { "" } else { ", reason, error" },
    )
}

fn run(status: &str, started: &str) -> String {
    format!(
        "with run as (insert into heartbeat_runs
                          (company_id, agent_id, status, created_at, started_at, context_snapshot)
                      values (':c', ':a', '{status}', now() - interval '10 minutes', {started},
                              '{{\"issueId\": \":i\"}}')
                      returning id)
         update agent_wakeup_requests set run_id = run.id from run where payload ->> 'issueId' = ':i';"
    )
}

/// `:i` the issue, `:a` its agent, `:c` the company.
fn all(world: &mut World, statements: &[String]) -> Vec<Id> {
    let set_up = statements.iter().map(|statement| {
        let company = world.begin_another_company();
        let (issue, agent) = to_do(world);
        world.run(&statement.replace(":c", &company.0).replace(":i", &issue.0).replace(":a", &agent.0));
        issue
    });
    set_up.collect()
}

#[test]
fn an_issue_to_do_whose_wake_was_not_served_is_shown_to_people_with_the_reason() {
    let mut world = World::new(On::Paperclip);
    let cases = [
        (wake("skipped", ", 'issue.paused', null"), "its wake was skipped: issue.paused"),
        (wake("skipped", ", 'x', 'The budget is used up'"), "its wake was skipped: The budget is used up"),
        (
            wake("deferred_issue_execution", ""),
            "its wake is deferred, and no run of it is live: the server says nothing",
        ),
        (
            wake("cancelled", ", 'x', 'Gone stale'") + &run("cancelled", "null"),
            "its run was cancelled before it began: Gone stale",
        ),
    ];
    // A server that notes it again and again, and one whose clock was ahead.
    let again = wake("skipped", "").replace("10 minutes'", "10 seconds'") + &wake("skipped", ", 'x', null");
    let ahead = wake("skipped", "").replace("- interval '10 minutes'", "+ interval '400 days'");
    let of_time = all(&mut world, &[again, ahead]);
    let issues = all(&mut world, &cases.each_ref().map(|(statement, _)| statement.clone()));
    world.sweep();
    let attention = world.attention();
    for ((statement, why), issue) in cases.iter().zip(&issues) {
        let items = attention["items"].as_array().expect("a list");
        let item =
            items.iter().find(|item| item["id"] == issue.0).unwrap_or_else(|| panic!("{statement}: {attention}"));
        assert_eq!((&item["what"], &item["why"]), (&"unstarted".into(), &(*why).into()), "{item}");
        let commands = item["commands"].to_string();
        assert!(commands.contains("sweep explain issue T-") && commands.contains("sweep wake T-"), "{item}");
    }
    assert!(of_time.iter().all(|issue| attention.to_string().contains(&issue.0)), "{attention}");
    assert_eq!(attention["items_total"], cases.len() + of_time.len(), "{attention}");
}

#[test]
fn an_issue_to_do_that_something_will_start_or_holds_on_purpose_is_not_shown() {
    let mut world = World::new(On::Paperclip);
    let skipped = wake("skipped", "");
    let on_the_issue = |assignment: &str| format!("{skipped} update issues set {assignment} where id = ':i';");
    let on_the_agent = |assignment: &str| format!("{skipped} update agents set {assignment} where id = ':a';");
    let cases = [
        "select 1;".to_owned(),
        wake("completed", ""),
        wake("queued", ""),
        skipped.clone() + &wake("queued", "").replace("10 minutes", "11 minutes"),
        wake("deferred_issue_execution", "") + &run("running", "now()"),
        wake("cancelled", "") + &run("cancelled", "now()"),
        wake("cancelled", "")
            + &run("cancelled", "null")
            + "update heartbeat_runs set error_code = 'operator_interrupted';",
        skipped.replace("10 minutes", "10 seconds"),
        skipped.clone() + &wake("completed", "").replace("10 minutes", "8 minutes"),
        on_the_issue("status = 'backlog'"),
        on_the_issue("assignee_agent_id = null"),
        on_the_issue("assignee_user_id = 'maria'"),
        on_the_issue("hidden_at = now()"),
        on_the_issue("monitor_next_check_at = now() + interval '1 hour'"),
        on_the_agent("status = 'paused'"),
        on_the_agent(r#"runtime_config = '{"heartbeat": {"enabled": true}}'"#),
        on_the_agent(r#"runtime_config = '{"heartbeat": {"wakeOnDemand": false}}'"#),
        format!("{skipped} update companies set status = 'paused' where id = ':c';"),
    ];
    let issues = all(&mut world, &cases);
    world.sweep();
    for (statement, issue) in cases.iter().zip(&issues) {
        let listed = world.count(&format!("left_issues where subject_id = '{issue}'"));
        assert_eq!(listed, 0, "{statement}");
        if statement.contains("wakeOnDemand") {
            let explained = world.explained(Kind::Issue, &issue.0).to_string();
            assert!(explained.contains("on demand"), "{explained}");
        }
    }
}

#[test]
fn a_person_starts_it_and_a_sweep_leaves_it_until_its_run_begins() {
    let mut world = World::new(On::Paperclip);
    let issues = all(&mut world, &[wake("skipped", ""), wake("deferred_issue_execution", ""), wake("queued", "")]);
    let [skipped, deferred, queued] = &issues[..] else { panic!("three") };
    world.sweep();
    assert_eq!(world.count("recoveries"), 0, "a sweep leaves it");

    refused(&mut world, "wake", &queued.0, &["it is todo"]);
    for issue in [skipped, deferred] {
        ask(&world, "wake", &issue.0, &[]).done();
        let ours = format!("heartbeat_runs where status = 'queued' and context_snapshot ->> 'issueId' = '{issue}'");
        assert_eq!(world.count(&ours), 1);
        assert_eq!(world.explained(Kind::Issue, &issue.0)["reason"], "a wake is queued");
    }
    world.sweep();
    assert_eq!(world.count("recoveries where action = 'recover'"), 0, "its run has not begun");
    refused(&mut world, "wake", &skipped.0, &["it is todo"]);

    world.run(
        "update heartbeat_runs set status = 'succeeded', started_at = now(), finished_at = now()
         where status = 'queued'",
    );
    world.run("update agent_wakeup_requests set status = 'completed' where requested_by_actor_id = 'sweep'");
    world.run("update issues set status = 'done' where status = 'todo'");
    world.sweep();
    assert_eq!(world.count("recoveries where action = 'recover'"), 2);
}

#[test]
fn people_are_notified_of_it_once_unless_they_say_otherwise() {
    let mut world = World::new(On::Paperclip);
    let issue = all(&mut world, &[wake("skipped", ", 'x', 'The budget is used up'")]).remove(0);
    let receiver = Receiver::new();
    let sweep = || world.program_notifying("SWEEP_WEBHOOK_URL", &receiver).run().done();
    sweep();
    sweep();
    let messages = receiver.received();
    let told: Vec<_> =
        messages.iter().flat_map(|message| message["notifications"].as_array().expect("a list")).collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["event"], &told[0]["subject_id"]), (&"unstarted".into(), &issue.0.as_str().into()));
    assert_eq!(told[0]["reason"], "its wake was skipped: The budget is used up");
}
