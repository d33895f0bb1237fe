//! What an agent may change, with --allow-changes alone; and that the ledger says who asked.

use serde_json::{Value, json};
use sweep::rules::{Id, Kind};

use crate::support::mcp::{Client, mcp};
use crate::support::program::{command_at, explain};
use crate::support::world::{On, World, on_each_database, on_each_host};

const CHANGES: [&str; 7] = ["wake", "fail_step", "skip_step", "heartbeat", "pause", "resume", "exempt"];

fn changing(world: &World) -> Client {
    Client::start(mcp(&world.url, ["--allow-changes", "--as", "ada"]))
}

fn names(tools: &[Value]) -> Vec<&str> {
    tools.iter().filter_map(|tool| tool["name"].as_str()).collect()
}

on_each_host! {
    fn an_exemption_that_a_person_gave_is_not_shortened(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let add = ["exempt", "add", "issue", &issue.0, "--reason", "Maria investigates"];
        for until in [None, Some("3d")] {
            let end = until.into_iter().flat_map(|end| ["--until", end]);
            command_at(&world.url, add.into_iter().chain(end)).run().done();
            let mut client = changing(world);
            let arguments = json!({ "kind": "issue", "subject": issue.0, "reason": "short", "until": "2s" });

            let why = client.refusal("exempt", arguments);

            assert!(why.contains("is exempt until") && why.contains("not shortened"), "{why}");
            assert_eq!(world.text("reason", "exemptions").as_deref(), Some("Maria investigates"));
        }
    }

    fn an_exemption_keeps_sweeps_away_and_says_who_asked_for_it(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let mut client = changing(world);
        let arguments = json!({ "kind": "issue", "subject": issue.0, "reason": "a load test", "until": "2d" });
        let exempted = client.call("exempt", arguments.clone());
        let listed = command_at(&world.url, ["exempt", "list", "--output", "json"]).run().done().json();
        let row = |document: &Value| {
            let row = &document["exemptions"][0];
            ["kind", "id", "identifier", "tenant", "reason", "until", "state"].map(|field| row[field].clone())
        };
        assert_eq!(row(&exempted), row(&listed));
        assert_eq!(listed["exemptions"][0]["reason"], "a load test (ada by test 1.0)");
        let swept = world.sweep();
        assert_eq!((swept.outcome(&issue), world.wakes_for(&issue)), ("waiting", 0));

        client.call("exempt", arguments);
        assert_eq!(world.count("exemptions"), 1, "again: the same");
        for (change, says) in [
            (json!({ "until": "2020-01-01" }), "until: 2020-01-01 00:00:00 UTC has passed"),
            (json!({ "until": "8d" }), "until: expected an end within 7 days"),
            (json!({ "until": "soon" }), "until: soon: expected a duration such as 2d or 12h"),
            (json!({ "subject": "A-99" }), "there is no issue A-99 in this database"),
            (json!({ "reason": null }), "reason: it is missing"),
        ] {
            let mut arguments = json!({ "kind": "issue", "subject": issue.0, "reason": "x", "until": "2d" });
            arguments.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
            let why = client.refusal("exempt", arguments);
            assert!(why.contains(says), "{why}");
        }
        assert_eq!(world.count("exemptions"), 1);
    }

    fn an_issue_is_woken_as_a_person_wakes_it(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let mut client = changing(world);
        let woken = client.call("wake", json!({ "subject": issue.0 }));
        assert_eq!((&woken["request"], &woken["requested_by"]), (&json!("wake"), &json!("ada by test 1.0")));
        assert_eq!((&woken["subject"]["kind"], &woken["subject"]["id"]), (&json!("issue"), &json!(issue.0)));
        assert_eq!(world.wakes_for(&issue), 1);
        let rows = world.texts("action || ' ' || attempt || ' ' || requested_by", "recoveries");
        assert_eq!(rows, [Some("continue 1 ada by test 1.0".to_owned())]);

        let why = client.refusal("wake", json!({ "subject": issue.0 }));
        let command = command_at(&world.url, ["wake", &issue.0, "--as", "ada"]).run();
        assert_eq!((command.code, command.err.trim()), (1, format!("sweep: {why}").as_str()));
        assert_eq!(world.wakes_for(&issue), 1);
    }

    fn without_allow_changes_nothing_can_be_changed(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);
        let tools = client.tools();
        assert!(names(&tools).iter().all(|name| !CHANGES.contains(name)), "{:?}", names(&tools));
        for name in CHANGES {
            let arguments = json!({ "kind": "issue", "subject": issue.0, "reason": "x", "until": "2d" });
            let why = client.refusal(name, arguments);
            let says = "changes something, and this server only reads: it was not started with --allow-changes";
            assert_eq!(why, format!("{name} {says}"));
        }
        assert_eq!((world.count("exemptions"), world.count("recoveries")), (0, 0));
    }
}

/// On the databases with sweep's own sessions and plans.
mod own_tables {
    use super::*;

    fn ledger(world: &mut World, subject: &Id) -> Vec<String> {
        let of_it = format!("recoveries where subject_id = '{subject}' order by created_at, id");
        let rows = world.texts("action || ': ' || reason", &of_it);
        rows.into_iter().flatten().collect()
    }

    on_each_database! {
        fn a_session_is_paused_and_resumed_as_the_commands_do_it(world) {
            let session = world.session(None, None);
            world.sweep();
            let mut client = changing(world);
            let paused = client.call("pause", json!({ "session": session.0 }));
            assert_eq!((&paused["request"], &paused["requested_by"]), (&json!("pause"), &json!("ada by test 1.0")));
            assert_eq!(paused["subject"]["id"], session.0);
            world.pass(10);
            assert_eq!(explain(&world.url, Kind::Session, &session.0)["decision"], "leave");
            let why = client.refusal("pause", json!({ "session": session.0 }));
            assert!(why.contains("its stall detection is paused already"), "{why}");
            client.call("resume", json!({ "session": session.0 }));
            assert!(client.refusal("resume", json!({ "session": session.0 })).contains("is not paused"));
            let ledger = ledger(world, &session);
            assert!(ledger.iter().any(|row| row.contains("asked for by ada by test 1.0")), "{ledger:?}");
        }

        fn a_step_is_given_up_or_left_out_as_the_commands_do_it(world) {
            for (tool, status, row) in [
                ("fail_step", "failed", "hand_over: set failed, asked for by ada by test 1.0"),
                ("skip_step", "skipped", "recover: skipped, asked for by ada by test 1.0"),
            ] {
                let (plan, step) = world.stalled_step(None);
                world.sweep();
                let mut client = changing(world);
                let done = client.call(tool, json!({ "step": step.0 }));
                let kebab = tool.replace('_', "-");
                assert_eq!((&done["request"], &done["requested_by"]), (&json!(kebab), &json!("ada by test 1.0")));
                let statuses = [world.status("plan_steps", &step), world.status("plans", &plan)];
                assert_eq!(statuses, [status, "executing"]);
                assert_eq!(ledger(world, &step).last().map(String::as_str), Some(row));
                let why = client.refusal(tool, json!({ "step": step.0 }));
                assert!(why.contains(&format!("it is {status}")) && why.contains("What would change that"), "{why}");
            }
        }

        fn the_agent_of_a_step_is_woken_once(world) {
            let agent = world.agent("idle");
            let (_, step) = world.stalled_step(Some(&agent));
            let mut client = changing(world);
            client.call("wake", json!({ "subject": "Launch #1" }));
            assert!(client.refusal("wake", json!({ "subject": step.0 })).contains("wake"));
            for tool in ["skip_step", "fail_step"] {
                assert!(client.refusal(tool, json!({ "step": step.0 })).contains("a wake"), "it is on its way");
            }
            assert_eq!(ledger(world, &step), ["continue: woken, asked for by ada by test 1.0"]);
        }

        fn a_heartbeat_is_a_sign_of_life(world) {
            let session = world.session(None, None);
            assert_eq!(explain(&world.url, Kind::Session, &session.0)["finding"], "silent");
            let mut client = changing(world);
            let noted = client.call("heartbeat", json!({ "session": session.0 }));
            assert_eq!(noted["request"], "heartbeat");
            assert_eq!(explain(&world.url, Kind::Session, &session.0)["finding"], Value::Null);
            assert!(client.refusal("heartbeat", json!({ "session": "S-none" })).contains("there is no session S-none"));
        }
    }
}

#[test]
fn what_changes_something_says_so() {
    let world = World::new(On::Sqlite);
    let mut client = changing(&world);
    let tools = client.tools();
    assert_eq!(tools.len(), 12);
    for tool in tools {
        let changes = CHANGES.contains(&tool["name"].as_str().expect("a name"));
        assert_eq!(tool["annotations"]["readOnlyHint"], !changes, "{tool}");
        assert_eq!(tool["annotations"]["destructiveHint"], changes, "{tool}");
    }
}

#[test]
fn what_a_client_calls_itself_is_shown_on_one_line_and_cut() {
    let mut world = World::new(On::Sqlite);
    let session = world.session(None, None);
    let mut client = Client::connect(mcp(&world.url, ["--allow-changes", "--as", "ada"]));
    let who = json!({ "name": format!("ev\u{1b}[2Jil\n api_key=hunter2 {}", "x".repeat(1000)), "version": "1" });
    client.ask("initialize", json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who }));
    let answer = client.ask("tools/call", json!({ "name": "pause", "arguments": { "session": session.0 } }));
    let by = answer["result"]["structuredContent"]["requested_by"].as_str().expect("a text").to_owned();
    assert!(by.starts_with("ada by ev[2Jil api_key=***") && by.chars().count() < 100, "{by}");
}
