//! PostgreSQL's texts cannot have a NUL character: a name with one names nothing, and no command calls that an outage.

use std::fs::write;
use std::path::Path;

use serde_json::json;
use tempfile::TempDir;

use crate::support::mcp::{Client, mcp};
use crate::support::page::{ask, served};
use crate::support::program::{command_at, sweep, sweep_at};
use crate::support::world::on_each_database;

const USAGE: i32 = 64;
const CONFIG: i32 = 78;

/// Writes a file in a directory of its own.
fn write_file(text: &str) -> (TempDir, std::path::PathBuf) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("file");
    write(&path, text).expect("a file");
    (directory, path)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

on_each_database! {
    fn in_an_argument_of_a_tool_is_a_mistake_of_its_caller(world) {
        let mut client = Client::start(mcp(&world.url, ["--allow-changes"]));
        let (name, until) = ("a\0b", "2h");
        for (tool, arguments) in [
            ("explain", json!({ "kind": "issue", "subject": name })),
            ("explain", json!({ "kind": "session", "subject": name })),
            ("explain", json!({ "kind": "step", "subject": name })),
            ("status", json!({ "tenant": name })),
            ("list_attention", json!({ "tenant": name })),
            ("list_attention", json!({ "agent": name })),
            ("list_attention", json!({ "after": format!("{name}~issue~{name}") })),
            ("dry_run", json!({ "kind": "issue", "subject": name })),
            ("dry_run", json!({ "tenant": name })),
            ("get_plan_status", json!({ "plan": name })),
            ("pause", json!({ "session": name })),
            ("exempt", json!({ "kind": "issue", "subject": name, "reason": "on purpose", "until": until })),
            ("exempt", json!({ "kind": "issue", "subject": "x", "reason": name, "until": until })),
        ] {
            let why = client.refusal(tool, arguments.clone());
            assert!(why.contains("expected a text without NUL characters"), "{tool} {arguments}: {why}");
        }
    }

    fn in_an_address_of_the_page_leads_nowhere(world) {
        let page = served(&world.url);
        for path in ["/issues/a%00b", "/sessions/%00", "/steps/~%00", "/tenants/a%00", "/agents/%00b", "/a%00"] {
            let answer = ask(&page, &format!("GET {path}"), &[]);
            assert_eq!(answer.status, 404, "{path}: {}", answer.body);
        }
        // The base64 of `@1~issue~a%00b`.
        assert_eq!(ask(&page, "GET /?after=QDF-aXNzdWV-YSUwMGI", &[]).status, 404);
    }

    fn in_a_plan_is_a_mistake_of_its_author(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let plan = sweep_at(&world.url, ["--dry-run", "--output", "json"]).run().done().out;
        let (_directory, path) = write_file(&plan.replace(&issue.0, r"a\u0000b"));
        let says = ["--apply -: ", "the id of no subject"];
        sweep_at(&world.url, ["--apply", "-"]).with_stdin(&path).run().refused(USAGE, &says);
    }

    fn in_a_file_of_settings_or_of_a_secret_is_a_mistake_of_its_author(world) {
        let (_directory, path) = write_file("SWEEP_LIMIT=1\nSWEEP_HOST_URL=a\0b\n");
        let says = ["--config ", "line 2: expected no NUL character"];
        sweep_at(&world.url, ["--config", text(&path)]).run().refused(CONFIG, &says);
        let (_directory, path) = write_file(&format!("{}\0", world.url));
        let says = ["DATABASE_URL_FILE: cannot read ", "expected no NUL character"];
        sweep([]).env("DATABASE_URL_FILE", &path).run().refused(CONFIG, &says);
    }

    /// A client can write a NUL into the place between two pages.
    fn in_a_place_between_two_pages_is_no_place(world) {
        let ran = command_at(&world.url, ["attention", "--after", "@1~issue~a%00b"]).run();
        ran.refused(USAGE, &["--after"]);
    }
}
