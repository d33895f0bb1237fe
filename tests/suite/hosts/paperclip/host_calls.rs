//! What the server blocked itself is set to work again by its own call alone: that call is the advice wherever advice
//! is given, and `sweep wake` makes it.

use serde_json::Value;
use sweep::rules::Id;

use super::{add_lease, end_run, orphan};
use crate::support::program::{Program, command_at};
use crate::support::receiver::{Answer, Receiver, Request};
use crate::support::world::{On, World};

const SOME_FAILED: i32 = 1;
const UNAVAILABLE: i32 = 69;

/// An issue that the server blocked when its run had failed, with this many of its recoveries; its run.
fn held(world: &mut World, recoveries: u32) -> (Id, Id) {
    let (issue, agent) = orphan(world);
    let run = world.issue_run(&issue, &agent, "failed", 30);
    end_run(world, &run, 20 * 60);
    world.set("heartbeat_runs", &run, "error = 'Process exited with code 3'");
    world.set("issues", &issue, "status = 'blocked'");
    let company = world.company.clone();
    world.run(&format!(
        "insert into issue_recovery_actions
             (company_id, source_issue_id, kind, status, cause, fingerprint, next_action, evidence, created_at)
         select '{company}', '{issue}', 'active_run_watchdog', 'resolved', 'legacy_execution_requires_reconciliation',
                n::text, 'x', '{{\"runId\": \"{run}\", \"automaticRecovery\": {{\"replay\": \"blocked\"}}}}',
                now() - n * interval '1 minute'
         from generate_series(1, {recoveries}) n"
    ));
    (issue, run)
}

fn wake(world: &World, issue: &Id) -> Program {
    command_at(&world.url, ["wake", issue.0.as_str(), "--as", "ada"])
}

fn said(call: &Request) -> Value {
    serde_json::from_str(&call.body).expect("JSON")
}

fn item(world: &World, issue: &Id) -> Value {
    let attention = world.attention();
    let items = attention["items"].as_array().expect("a list");
    items.iter().find(|item| item["id"] == issue.0).unwrap_or_else(|| panic!("{issue}: {attention}")).clone()
}

#[test]
fn what_the_server_blocked_is_shown_with_the_calls_that_help_whoever_has_answered() {
    let mut world = World::new(On::Paperclip);
    let (issue, run) = held(&mut world, 2);
    let company = world.company.clone();
    world.run(&format!(
        "insert into issue_comments (company_id, issue_id, author_type, author_user_id, body)
         values ('{company}', '{issue}', 'user', 'maria', 'Go on');
         insert into activity_log (company_id, actor_type, actor_id, action, entity_type, entity_id)
         values ('{company}', 'user', 'maria', 'issue.updated', 'issue', '{issue}')"
    ));
    let item = item(&world, &issue);
    assert_eq!((&item["what"], &item["cause"]), (&"blocked_by_host".into(), &"Process exited with code 3".into()));
    let advice = item["advice"].as_str().expect("words");
    for words in [
        "tell the server that the process of that run has ended",
        "No comment, other assignee or status starts anything",
    ] {
        assert!(advice.contains(words), "{advice}");
    }
    let commands: Vec<&str> = item["commands"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let [explain, wake, older, newer] = &commands[..] else { panic!("{commands:?}") };
    assert!(explain.starts_with("sweep explain issue ") && wake.starts_with("sweep wake "), "{commands:?}");
    let path = format!("\"$SWEEP_HOST_URL\"/api/issues/{issue}/recovery-actions/resolve ");
    for (command, n) in [(older, 2), (newer, 1)] {
        let action =
            world.text("id::text", &format!("issue_recovery_actions where fingerprint = '{n}'")).expect("an id");
        assert!(command.contains(&path) && command.contains(&action) && command.contains(&run.0), "{command}");
    }
}

/// In order, with the key, and the ledger says who asked for them.
#[test]
fn a_person_has_sweep_make_the_calls() {
    let mut world = World::new(On::Paperclip);
    let (issue, run) = held(&mut world, 2);
    let server = Receiver::answering(Answer::Json("{}"));
    let out =
        wake(&world, &issue).env("SWEEP_HOST_URL", server.url()).env("SWEEP_HOST_KEY", "s3cret-k3y").run().done().out;

    assert!(out.contains("Its host goes on: issue T-"), "{out}");
    let calls = server.take();
    let ids = ["2", "1"].map(|n| world.text("id::text", &format!("issue_recovery_actions where fingerprint = '{n}'")));
    assert_eq!(calls.iter().map(|call| said(call)["actionId"].as_str().map(str::to_owned)).collect::<Vec<_>>(), ids);
    for call in &calls {
        assert!(call.path.ends_with(&format!("/api/issues/{issue}/recovery-actions/resolve")), "{call:?}");
        assert_eq!(call.header("authorization"), "Bearer s3cret-k3y");
        let said = said(call)["executionReconciliation"].clone();
        assert_eq!((&said["runId"], &said["providerStopped"]), (&run.0.as_str().into(), &true.into()));
    }
    let told = "recoveries where action = 'hand_over' and requested_by = 'ada' and settled_at is not null";
    assert_eq!(world.text("reason", told).as_deref(), Some("its host was told to go on with it"));
}

#[test]
fn without_the_hosts_address_nothing_is_called_and_the_call_is_shown() {
    let mut world = World::new(On::Paperclip);
    let (issue, _) = held(&mut world, 1);
    let call = format!("curl -sS --fail-with-body \"$SWEEP_HOST_URL\"/api/issues/{issue}/recovery-actions/resolve");
    let says = ["its host forbids to start it", "if SWEEP_HOST_URL is set", &call];
    wake(&world, &issue).run().refused(SOME_FAILED, &says);
}

#[test]
fn a_call_that_fails_says_so_and_what_was_done_before() {
    let mut world = World::new(On::Paperclip);
    let (issue, _) = held(&mut world, 2);
    for (answer, code, says) in [
        (Answer::Status(409), SOME_FAILED, "and the host changed nothing: HTTP 409"),
        (Answer::Status(500), UNAVAILABLE, "and it is not known whether the host was told: HTTP 500"),
        (Answer::Redirect("http://127.0.0.1:1/".to_owned()), UNAVAILABLE, "HTTP 302"),
        (Answer::Reset, UNAVAILABLE, "and it is not known whether the host was told"),
        // A login in front of the board, for people.
        (Answer::Status(200), UNAVAILABLE, "HTTP 200, and its answer is no JSON"),
    ] {
        let server = Receiver::answering(answer);
        wake(&world, &issue).env("SWEEP_HOST_URL", server.url()).run().refused(code, &[says]);
        assert!(server.take().len() <= 1, "the second call is not made");
        assert_eq!(world.count("recoveries"), 0);
    }
    let server = Receiver::new();
    let with_a_key = wake(&world, &issue).env("SWEEP_HOST_URL", server.url()).env("SWEEP_HOST_KEY", "a\nb");
    with_a_key.run().refused(78, &["SWEEP_HOST_KEY: expected visible characters"]);
    assert_eq!(server.take().len(), 0);
    wake(&world, &issue).env("SWEEP_HOST_URL", "http://board.example").run().refused(78, &["SWEEP_HOST_URL", "https"]);
}

/// What else is wrong is said first, and the host is not called.
#[test]
fn the_host_is_not_called_while_anything_else_is_wrong() {
    let server = Receiver::answering(Answer::Json("{}"));
    let mut world = World::new(On::Paperclip);
    let company = world.company.clone();
    let cases = [
        ("update issues set assignee_user_id = 'maria' where id = ':i'", "a person has it"),
        ("update issues set monitor_next_check_at = now() + interval '1 hour' where id = ':i'", "monitor check"),
        ("update agents set status = 'paused' where id = ':a'", "paused"),
        ("insert into sweep.exemptions (kind, subject_id, reason) values ('issue', ':i', 'on purpose')", "on purpose"),
        (
            "insert into environment_leases (company_id, issue_id, heartbeat_run_id, updated_at)
             values (':c', ':i', ':r', now() - interval '20 minutes')",
            "release the environment of run",
        ),
        (
            "update heartbeat_runs set agent_id = (select id from agents where name = 'Eve') where id = ':r'",
            "assign it to the agent of that run",
        ),
        ("update issue_recovery_actions set status = 'active' where source_issue_id = ':i'", "it is blocked"),
        (
            "update issue_recovery_actions set evidence = '{\"automaticRecovery\": {\"replay\": \"blocked\"}}'
             where source_issue_id = ':i'",
            "go on in a new issue",
        ),
    ];
    let eve = world.agent("idle");
    world.set("agents", &eve, "name = 'Eve'");
    world.run("alter table environment_leases alter column environment_id drop not null");
    for (statement, says) in cases {
        let (issue, run) = held(&mut world, 1);
        let agent = world.text("assignee_agent_id::text", &format!("issues where id = '{issue}'")).expect("an agent");
        let statement = statement.replace(":c", &company.0).replace(":i", &issue.0).replace(":a", &agent);
        world.run(&statement.replace(":r", &run.0));
        wake(&world, &issue).env("SWEEP_HOST_URL", server.url()).run().refused(SOME_FAILED, &[says]);
    }
    assert_eq!(server.take().len(), 0);
}

/// An environment is released by the owner of the tables: the statement is shown where people have a shell, and on the
/// board there are words.
#[test]
fn an_environment_that_was_never_released_is_advised_about_in_words_on_the_board_and_with_its_statement_elsewhere() {
    let mut world = World::new(On::Paperclip);
    let (issue, agent) = orphan(&mut world);
    world.set("agents", &agent, "adapter_type = 'claude_local'");
    let run = world.issue_run(&issue, &agent, "failed", 30);
    end_run(&mut world, &run, 20 * 60);
    add_lease(&mut world, &issue, &run, 20 * 60);
    assert_eq!(world.sweep().outcome(&issue), "escalated");
    let of_issue = format!("issues where id = '{issue}'");
    let on_the_board = world.text("unblock_descriptor ->> 'action'", &of_issue).expect("an action");
    let notice = world.text("body", &format!("issue_comments where issue_id = '{issue}'")).expect("a comment");
    for text in [&on_the_board, &notice] {
        assert!(text.contains(&format!("release the environment of run {}", &run.0[..8])), "{text}");
        assert!(!text.contains("update environment_leases"), "{text}");
    }
    let item = item(&world, &issue);
    let statement = item["commands"][1].as_str().expect("a command");
    assert!(statement.starts_with("psql \"$DATABASE_URL\" -c 'update environment_leases "), "{statement}");
    assert!(statement.contains(&run.0), "{statement}");
}

#[test]
fn what_failed_for_one_cause_stands_together_with_its_number() {
    let mut world = World::new(On::Paperclip);
    let first = held(&mut world, 1);
    let other = held(&mut world, 1);
    world.set("heartbeat_runs", &other.1, "error = 'Process lost'");
    let last = held(&mut world, 1);
    let out = command_at(&world.url, ["attention"]).run().done().out;
    let at = |words: &str| out.find(words).unwrap_or_else(|| panic!("no {words} in {out}"));
    let name = |issue: &Id| format!("T-{}", &issue.0[24..]);
    let places = [
        at("2 × Process exited with code 3"),
        at(&name(&first.0)),
        at(&name(&last.0)),
        at("Its last run: Process lost"),
    ];
    assert!(places.is_sorted(), "{out}");
    assert_eq!(out.matches(" × ").count(), 1, "{out}");
}

/// In progress nobody would be told of it: a wake would be in vain, and a wait would have no end.
#[test]
fn what_the_server_forbids_to_start_and_somebody_set_in_progress_again_is_escalated_with_that_advice() {
    let mut world = World::new(On::Paperclip);
    let (issue, _) = held(&mut world, 1);
    world.set("issues", &issue, "status = 'in_progress'");
    let swept = world.sweep();
    assert_eq!(swept.outcome(&issue), "escalated", "{}", swept.subject(&issue));
    let notice = world.text("body", &format!("issue_comments where issue_id = '{issue}'")).expect("a comment");
    assert!(notice.contains("its host forbids to start it") && notice.contains("have sweep wake T-"), "{notice}");
    let item = item(&world, &issue);
    assert_eq!(item["what"], "escalated");
    assert!(item["commands"][1].as_str().is_some_and(|command| command.starts_with("sweep wake ")), "{item}");
}
