//! `sweep mcp`: each tool answers what its command prints, and writes nothing.

mod changes;
mod pages;
mod protocol;
mod refusals;
mod shown;
mod signs_of_life;

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Value, json};
use sweep::rules::{Id, Kind};

use crate::support::mcp::Client;
use crate::support::program::{command_at, explain, sweep_at};
use crate::support::world::{on_each_database, on_each_host};

/// What a command prints.
fn printed(url: &str, words: &[&str]) -> Value {
    command_at(url, words.iter().copied().chain(["--output", "json"])).run().done().json()
}

/// `3h` or `10m`, in words.
static DURATION: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\b\d+[smhd]\b").expect("a regular expression"));

/// Without what passes: times of reading and ages, also where they stand in words.
fn timeless(mut document: Value) -> Value {
    let passes = |name: &str| {
        ["observed_at", "age_seconds", "idle_seconds", "stuck_seconds", "began_at", "duration_ms", "clocks"]
            .contains(&name)
            || name.ends_with("_age_seconds")
    };
    match &mut document {
        Value::Object(fields) => {
            fields.retain(|name, _| !passes(name) && name != "clauses");
            fields.values_mut().for_each(|value| *value = timeless(value.take()));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = timeless(value.take())),
        Value::String(text) => *text = DURATION.replace_all(text, "…").into_owned(),
        _ => {}
    }
    document
}

/// Each list of a status, cut as the tool cuts it, without the commands of a person.
fn with_rows(mut status: Value, rows: usize) -> Value {
    let lists = ["orphans", "escalations", "abandoned", "plans", "stuck_wakes", "quarantined"];
    for list in lists {
        let list = status[list].as_array_mut().expect("a list");
        list.truncate(rows);
        for item in list.iter_mut().filter(|item| item.get("commands").is_some()) {
            item["commands"] = json!([]);
        }
    }
    status["sweeper"]["sweeps"].as_array_mut().expect("a list").truncate(rows);
    status
}

on_each_host! {
    fn each_tool_answers_what_its_command_prints(world) {
        let (idle, paused) = (world.agent("idle"), world.agent("paused"));
        let issues: Vec<Id> = (0..8).map(|_| world.orphan(&idle)).collect();
        world.set("issues", &issues[0], &format!("assignee_agent_id = '{paused}'"));
        world.issue_run(&issues[1], &idle, "running", 30);
        world.sweep();
        world.end_continuations("failed");
        world.pass(10);
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);

        let status = client.call("status", json!({}));
        assert_eq!(timeless(status.clone()), timeless(with_rows(printed(&url, &["status"]), 5)));
        assert_eq!((&status["orphans_total"], status["orphans"].as_array().map(Vec::len)), (&json!(6), Some(5)));

        let listed = client.call("list_attention", json!({}));
        let attention = printed(&url, &["attention"]);
        for field in ["schema", "host", "tenant", "agent", "items_total", "next_page"] {
            assert_eq!(listed[field], attention[field], "{field}");
        }
        assert_eq!(timeless(listed["items"].clone()), timeless(attention["items"].clone()));
        assert_eq!(listed["sweeper"]["state"], attention["sweeper"]["state"]);

        // The others are like the third.
        for issue in &issues[..3] {
            let explained = client.call("explain", json!({ "kind": "issue", "subject": issue.0 }));
            assert_eq!(timeless(explained), timeless(explain(&url, Kind::Issue, &issue.0)));
        }

        let mut pages = client.pages("dry_run", "subjects", json!({ "limit": 100 }));
        let mut report = sweep_at(&url, ["--dry-run", "--output", "json"]).run().done().json();
        let mut subjects = report["subjects"].as_array_mut().map(std::mem::take).expect("subjects");
        let by_id = |row: &Value| row["id"].to_string();
        pages[0].sort_by_key(by_id);
        subjects.sort_by_key(by_id);
        assert_eq!(timeless(pages.concat().into()), timeless(subjects.into()));
        let page = client.call("dry_run", json!({}));
        for field in ["schema", "mode", "host", "kinds", "unswept", "stopped_by", "stuck_wakes", "empty", "ended"] {
            assert_eq!(page[field], report[field], "{field}");
        }
    }

    fn asking_writes_nothing(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);
        client.call("status", json!({}));
        client.call("list_attention", json!({}));
        client.call("explain", json!({ "kind": "issue", "subject": issue.0 }));
        let dry = client.call("dry_run", json!({}));
        assert_eq!(dry["subjects"][0]["outcome"], "continued");
        assert_eq!((world.written(), world.count("sweeps"), world.wakes_for(&issue)), (0, 0, 0));
    }
}

/// On the databases with sweep's own tables.
mod own_tables {
    use super::*;

    on_each_database! {
        fn the_status_of_a_plan_is_what_its_command_prints(world) {
            let agent = world.agent("idle");
            let (plan, _) = world.stalled_step(Some(&agent));
            let url = world.url.clone();
            let mut client = Client::start_read_only(&url);
            let shown = printed(&url, &["status", "--plan", &plan.0]);
            for name in [plan.0.as_str(), "Launch"] {
                let mut answer = client.call("get_plan_status", json!({ "plan": name }));
                let fields = answer.as_object_mut().expect("an object");
                let of_a_page = ["steps_total", "next_page"].map(|field| fields.remove(field));
                assert_eq!(of_a_page, [Some(json!(1)), Some(Value::Null)]);
                assert_eq!(timeless(answer.clone()), timeless(shown.clone()));
                assert_eq!((&answer["stored"], &answer["derived"]), (&json!("executing"), &json!("stalled")));
                assert_eq!(answer["current_step"], json!([1, "Pack"]));
            }
        }
    }
}
