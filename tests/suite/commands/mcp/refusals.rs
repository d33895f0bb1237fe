//! What is wrong is said as an agent can use it, and the server goes on.

use serde_json::json;

use crate::support::mcp::{Client, mcp};
use crate::support::program::{migrate_at, sweep};
use crate::support::proxy::{Afterwards, Cut, Direction, Proxy};
use crate::support::world::{On, World, on_each_host};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;

on_each_host! {
    fn a_wrong_argument_is_named_with_its_value_and_what_was_expected(world) {
        let url = world.url.clone();
        let mut client = Client::start_read_only(&url);
        for (tool, arguments, says) in [
            ("explain", json!({ "kind": "isue", "subject": "A-1" }), r#"kind: "isue": expected one of session"#),
            ("explain", json!({ "kind": "issue" }), "subject: it is missing, expected a text of 1 to 1000 characters"),
            ("explain", json!({ "kind": "issue", "subject": "" }), r#"subject: "": expected a text of 1 to 1000"#),
            ("explain", json!({ "kind": "issue", "subject": 12 }), "subject: 12: expected a text"),
            ("explain", json!({ "kind": "issue", "subject": "A-99" }), "there is no issue A-99 in this database"),
            ("explain", json!({ "kind": "issue", "subjct": "A-1" }), r#""subjct": there is no such argument"#),
            ("dry_run", json!({ "limit": 0 }), "limit: 0: expected a whole number from 1 to 100"),
            ("dry_run", json!({ "limit": 101 }), "limit: 101: expected a whole number from 1 to 100"),
            ("dry_run", json!({ "limit": "20" }), r#"limit: "20": expected a whole number from 1 to 100"#),
            ("dry_run", json!({ "limit": 1.5 }), "limit: 1.5: expected a whole number from 1 to 100"),
            ("dry_run", json!({ "after": "x" }), r#"after: "x": expected the next_page of an earlier answer"#),
            ("list_attention", json!({ "after": "x" }), r#"after: "x": expected the next_page of an earlier answer"#),
            ("list_attention", json!({ "after": "@12~issue~x" }), "no page of this database begins there"),
            ("list_attention", json!({ "tenant": "nobody" }), "there is no tenant nobody in this database"),
            ("dry_run", json!({ "subject": "A-1" }), "subject: it needs kind as well"),
            ("dry_run", json!({ "tenant": "nobody" }), "there is no tenant nobody in this database"),
            ("status", json!({ "tenant": "nobody" }), "there is no tenant nobody in this database"),
            ("status", json!({ "tenant": ["x"] }), r#"tenant: ["x"]: expected a text"#),
            ("get_plan_status", json!({ "plan": "x", "after": "-1" }), r#"after: "-1": expected the next_page"#),
            ("explain", json!({ "kind": "issue", "subject": "\u{1b}[2J'; --" }), "there is no issue [2J'; -- in this"),
            ("explain", json!({ "kind": "issue", "password=hunter2": 1 }), r#""password=***"#),
        ] {
            let why = client.refusal(tool, arguments.clone());
            assert!(why.contains(says), "{tool} {arguments}: {why}");
        }
        client.call("status", json!({ "tenant": null }));
    }
}

#[test]
fn a_name_that_two_have_is_refused_as_the_command_refuses_it() {
    let mut world = World::new(On::Postgres);
    let [one, other] = [world.stalled_step(None).1, world.stalled_step(None).1];
    let mut client = Client::start_read_only(&world.url);
    for (tool, arguments) in [
        ("explain", json!({ "kind": "step", "subject": "Launch #1" })),
        ("get_plan_status", json!({ "plan": "Launch" })),
    ] {
        let why = client.refusal(tool, arguments);
        assert!(why.contains("more than one") && why.contains("give the id"), "{why}");
        assert!(tool != "explain" || why.contains(&one.0) && why.contains(&other.0), "{why}");
    }
}

#[test]
fn what_the_host_does_not_have_is_said() {
    let world = World::new(On::Paperclip);
    let mut client = Client::start_read_only(&world.url);
    for (tool, arguments) in
        [("explain", json!({ "kind": "step", "subject": "x" })), ("get_plan_status", json!({ "plan": "x" }))]
    {
        let why = client.refusal(tool, arguments);
        assert!(why.contains("steps: not provided by this database"), "{why}");
    }
}

#[test]
fn a_database_that_is_away_is_an_answer_and_not_the_end() {
    let world = World::new(On::Postgres);
    let proxy = Proxy::start(None);
    let mut client = Client::start_read_only(&proxy.url(world.name(), "disable"));
    assert_eq!(client.call("status", json!({}))["host"], "native");
    drop(proxy);
    for tool in ["status", "dry_run"] {
        let why = client.refusal(tool, json!({}));
        assert!(why.starts_with("the database is unavailable; try again later: "), "{why}");
        assert!(!why.contains("secret") && !why.contains("password"), "{why}");
    }
    client.tools();
}

#[test]
fn a_database_that_comes_later_is_asked_then() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("sqlite://{}", directory.path().join("later.db").display());
    let mut client = Client::start_read_only(&url);
    assert!(client.refusal("status", json!({})).contains("later.db"));
    migrate_at(&url, []).run().done();
    assert_eq!(client.call("status", json!({}))["empty"], true);
}

#[test]
fn a_connection_that_is_cut_in_a_call_costs_that_call_alone() {
    let world = World::new(On::Postgres);
    let whole = Proxy::start(None);
    Client::start_read_only(&whole.url(world.name(), "disable")).call("status", json!({}));
    let passed = whole.passed(Direction::ToClient).len();
    for byte in [passed / 10, passed / 2, passed * 9 / 10] {
        let cut = Cut { direction: Direction::ToClient, byte, afterwards: Afterwards::Open };
        let proxy = Proxy::start(Some(cut));
        let mut client = Client::start_read_only(&proxy.url(world.name(), "disable"));
        let why = client.refusal("status", json!({}));
        assert!(why.starts_with("the database is unavailable"), "{byte} of {passed}: {why}");
        assert_eq!(client.call("status", json!({}))["host"], "native");
    }
}

#[test]
fn several_databases_and_wrong_settings_are_refused_at_the_start() {
    let urls = ["mcp", "--database", "sqlite:///tmp/a.db", "--database", "sqlite:///tmp/b.db"];
    sweep(urls).run().refused(USAGE, &["2 databases are named, and this command takes one"]);
    mcp("sqlite://x.db", []).env("SWEEP_ORPHAN_GRACE", "soon").run().refused(CONFIG, &["SWEEP_ORPHAN_GRACE"]);
}
