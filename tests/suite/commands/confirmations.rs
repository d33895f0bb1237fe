//! What commands print that change something: a sentence for people, and one document for programs.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sweep::cli::command;

use crate::support::program::{Program, command_at, sweep};
use crate::support::receiver::{Answer, Receiver};
use crate::support::scratch::Scratch;
use crate::support::world::notifications::SECRET;
use crate::support::world::{On, World};

/// Commands that print no answer: they go on until a signal, show something else, or are another program's output.
const WITHOUT_OUTPUT: [&str; 9] =
    ["completions", "daemon", "demo", "init", "man", "mcp", "page", "watch", "watch event"];

fn document(program: Program, code: i32) -> Value {
    let ran = program.run();
    assert_eq!(ran.code, code, "{ran}");
    ran.json()
}

#[test]
fn every_command_that_answers_prints_json() {
    fn without(command: &clap::Command, path: &str) -> BTreeSet<String> {
        let below: Vec<&clap::Command> = command.get_subcommands().filter(|below| below.get_name() != "help").collect();
        let name = |below: &clap::Command| format!("{path} {}", below.get_name()).trim().to_owned();
        let mut found: BTreeSet<String> = below.iter().flat_map(|below| without(below, &name(below))).collect();
        let is_leaf = below.is_empty() || path == "watch";
        let has_output = command.get_arguments().any(|argument| argument.get_id() == "output");
        found.extend(Some(path.to_owned()).filter(|_| is_leaf && !has_output));
        found
    }
    assert_eq!(without(&command(), ""), BTreeSet::from(WITHOUT_OUTPUT.map(str::to_owned)));
}

#[test]
fn what_changes_something_says_in_json_what_it_was_done_to() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.set("issues", &issue, "identifier = 'ACM-12'");
    let quarantine = format!(
        "insert into failures (kind, subject_id, sweeps, reason, quarantined_at)
         values ('issue', '{issue}', 3, 'it failed', '2026-11-29T09:30:00.000Z')
         on conflict do update set sweeps = 3, quarantined_at = excluded.quarantined_at"
    );
    let did = |line: &str| document(command_at(&world.url, line.split(' ').chain(["-o", "json", "--quiet"])), 0);
    let done = |command: &str, done: &[&str]| json!({ "schema": 1, "command": command, "done": done, "failed": [] });

    assert_eq!(did("migrate"), done("migrate", &[]));
    assert_eq!(did("exempt add issue ACM-12 --reason x"), done("exempt add", &["issue ACM-12"]));
    assert_eq!(did("exempt remove issue ACM-12"), done("exempt remove", &["issue ACM-12"]));
    assert_eq!(did("quarantine release --all"), done("quarantine release", &[]));
    for (what, name) in [("issue ACM-12", "issue ACM-12".to_owned()), ("--all", format!("issue {issue}"))] {
        crate::support::databases::run(&mut world.connect(), &quarantine);
        assert_eq!(did(&format!("quarantine release {what}")), done("quarantine release", &[&name]));
    }
    let removed = did("migrate --uninstall --yes");
    assert_eq!(removed["command"], "migrate --uninstall");
    assert!(removed["done"].as_array().is_some_and(|done| 10 < done.len()), "{removed}");
}

#[test]
fn what_is_created_is_named_in_json() {
    let (empty, tables) = (Scratch::empty(), Scratch::empty());
    let migrated = document(command_at(&empty.url, ["migrate", "--output", "json"]), 0);
    assert!(migrated["done"][0].as_str().is_some_and(|first| first.contains("_ids")), "{migrated}");

    tables.run("create table tasks (id bigint primary key, title text)");
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("our").display().to_string();
    let written = document(command_at(&tables.url, ["host", "new", &folder, "--output", "json"]), 0);
    let files = written["done"].as_array().expect("files");
    assert!(files.contains(&format!("{folder}/host.toml").into()), "{written}");
    assert!(files.iter().all(|file| std::path::Path::new(file.as_str().expect("a path")).is_file()), "{written}");
}

#[test]
fn a_test_of_the_notifications_says_in_json_which_destinations_took_it() {
    let (slack, webhook) = (Receiver::new(), Receiver::new());
    webhook.answer(Answer::Status(401));
    let test = sweep(["notify", "test", "-o", "json"]).env("SWEEP_SLACK_URL", slack.url());
    let test = test.env("SWEEP_WEBHOOK_URL", webhook.url()).env("SWEEP_WEBHOOK_SECRET", SECRET);
    let said = document(test, 69);
    let failed = json!([{ "name": "webhook", "error": "HTTP 401" }]);
    assert_eq!((&said["done"], &said["failed"]), (&json!(["slack"]), &failed));
}
