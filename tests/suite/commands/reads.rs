//! The commands that only read, each beside each condition under which it must still answer, or say why it cannot.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sweep::rules::Kind;

use crate::support::databases::{connect, run};
use crate::support::mcp::{Client, mcp};
use crate::support::page::{ask, fields, html, served};
use crate::support::program::{Program, command_at, explain, migrate_at, sweep_at};
use crate::support::scratch::{Role, grant_calls, new_file};
use crate::support::server::Server;
use crate::support::world::{On, World, on_each_host};

const USAGE: i32 = 64;
const UNAVAILABLE: i32 = 69;
const CONFIG: i32 = 78;

/// Each command that only reads, and the issue that it must show.
const READS: [(&str, &str); 6] = [
    ("--dry-run", "T-1"),
    ("status", "T-1"),
    ("explain issue T-1", "T-1"),
    ("attention", "T-2"),
    ("quarantine list", "T-2"),
    ("exempt list", "T-3"),
];

/// The second issue is in quarantine, and the third is exempt.
const HELD: &str = "
    insert into failures (kind, subject_id, sweeps, reason, quarantined_at)
        select 'issue', id, 3, 'it failed', updated_at from issues where identifier = 'T-2';
    insert into exemptions (kind, subject_id, reason)
        select 'issue', id, 'a call' from issues where identifier = 'T-3'";

/// Three issues that were left alone: T-1 is an orphan, and the others are held.
fn plant(world: &mut World) {
    let agent = world.agent("idle");
    for name in ["T-1", "T-2", "T-3"] {
        let issue = world.orphan(&agent);
        world.set("issues", &issue, &format!("identifier = '{name}'"));
    }
    world.run(HELD);
}

fn read_command(url: &str, command: &str, output: &str) -> Program {
    command_at(url, command.split(' ').chain(["--output", output]))
}

/// Every command reads this database, also the tools of agents.
#[track_caller]
fn assert_all_read(url: &str, client: &mut Client) {
    for (command, shown) in READS {
        let ran = read_command(url, command, "json").run().done();
        assert!(ran.out.contains(&format!("\"{shown}\"")), "{command}: {ran}");
    }
    for (tool, arguments, shown) in [
        ("status", json!({}), "T-1"),
        ("dry_run", json!({}), "T-1"),
        ("list_attention", json!({}), "T-2"),
        ("explain", json!({ "kind": "issue", "subject": "T-1" }), "T-1"),
    ] {
        let answer = client.call(tool, arguments);
        assert!(answer.to_string().contains(&format!("\"{shown}\"")), "{tool}: {answer}");
    }
}

/// An explanation without what differs between two moments.
fn explained(url: &str) -> Value {
    let mut shown = explain(url, Kind::Issue, "T-1");
    (shown["history"]["observed_at"], shown["clauses"]) = (Value::Null, Value::Null);
    shown
}

/// The subjects of a dry run and what becomes of each.
fn foreseen(url: &str) -> BTreeSet<(String, String)> {
    let report = read_command(url, "--dry-run", "json").run().done().json();
    let subjects = report["subjects"].as_array().expect("subjects");
    subjects.iter().map(|row| (row["identifier"].to_string(), row["outcome"].to_string())).collect()
}

on_each_host! {
    fn every_command_shows_hostile_text_as_text_and_writes_nothing(world) {
        plant(world);
        let hostile = "owned \u{1b}]0;owned\u{7}\u{1b}[2J\n\u{9b}2J";
        world.run(&format!("update issues set title = '{hostile}'; update agents set name = '{hostile}'"));
        world.run(&format!("update exemptions set reason = '{hostile}'; update failures set reason = '{hostile}'"));
        let outputs = READS.map(|(command, shown)| (command, shown, "table"));
        for (command, shown, output) in outputs.into_iter().chain([("explain issue T-1", "T-1", "json")]) {
            let ran = read_command(&world.url, command, output).run().done();
            assert!(ran.out.contains(shown) && ran.out.contains("owned"), "{command}: {ran}");
            assert!(ran.out.chars().all(|c| c == '\n' || !c.is_control()), "{command}: {:?}", ran.out);
        }
        assert_eq!((world.written(), world.count("sweeps")), (0, 0));
        assert_eq!((world.count("failures"), world.count("exemptions")), (1, 1));
    }

    fn a_tenant_that_nobody_knows_is_refused_by_every_command(world) {
        plant(world);
        for command in ["--dry-run", "status", "attention"] {
            let ran = read_command(&world.url, &format!("{command} --tenant acmee"), "json").run();
            ran.refused(USAGE, &["there is no tenant acmee in this database"]);
        }
    }
}

#[test]
fn every_command_ends_quietly_when_nobody_reads_what_it_prints() {
    let mut world = World::new(On::Sqlite);
    plant(&mut world);
    for (command, _) in READS {
        read_command(&world.url, command, "json").without_reader_of_stdout().run().done();
    }
}

#[test]
fn every_command_says_of_a_database_that_it_is_not_migrated_or_away() {
    let (_directory, _, empty) = new_file();
    for (command, _) in READS {
        read_command(&empty, command, "table").run().refused(CONFIG, &["sweep migrate"]);
        let away = read_command("postgres://sweep@127.0.0.1:1/sweep", command, "table").run();
        away.refused(UNAVAILABLE, &["cannot reach PostgreSQL"]);
    }
}

fn a_role_that_may_only_read_is_enough_and_changes_nothing(on: On) {
    let role = Role::new();
    let mut world = World::new(on);
    plant(&mut world);
    let (name, url) = (&role.name, role.at(&world.url));
    world.run(&format!(
        "grant usage on schema sweep to {name}; grant select on all tables in schema sweep to {name};
         {}",
        grant_calls(name)
    ));
    let mut client = Client::start(mcp(&url, ["--allow-changes", "--as", "ada"]));
    assert_all_read(&url, &mut client);
    assert_eq!(explained(&url), explained(&world.url));
    let issue = world.text("id", "issues where identifier = 'T-1'").expect("an issue");
    let page = served(&url);
    for path in ["/".to_owned(), "/sweeps".to_owned(), format!("/issues/{issue}")] {
        html(&page, &path);
    }

    let add = || command_at(&url, ["exempt", "add", "issue", "T-1", "--reason", "a call"]).run();
    let release = || command_at(&url, ["quarantine", "release", "--all"]).run();
    add().refused(CONFIG, &["lacks rights", "INSERT on sweep.exemptions", "DELETE on sweep.exemptions"]);
    release().refused(CONFIG, &["lacks rights", "UPDATE on sweep.failures"]);
    let exempt = json!({ "kind": "issue", "subject": "T-1", "reason": "x", "until": "2d" });
    assert!(client.refusal("exempt", exempt).contains("lacks rights"));
    if on == On::Postgres {
        let session = world.session(None, None);
        assert!(client.refusal("pause", json!({ "session": session.0 })).contains("lacks rights"));
    }
    assert_eq!((world.written(), world.count("failures"), world.count("exemptions")), (0, 1, 1));

    world.run(&format!("grant insert, update, delete on sweep.exemptions, sweep.tenant_exemptions to {name}"));
    world.run(&format!("grant update on sweep.failures to {name}"));
    add().done();
    command_at(&url, ["exempt", "remove", "issue", "T-1"]).run().done();
    release().done();

    // The control: with a right less, a command says which.
    world.run(&format!("revoke select on sweep.issue_states, sweep.recoveries from {name}"));
    let lacks = ["lacks rights", "SELECT on sweep.issue_states, SELECT on sweep.recoveries"];
    read_command(&url, "status", "table").run().refused(CONFIG, &lacks);
    read_command(&url, "--dry-run", "table").run().done();
    world.run(&format!("revoke select on sweep.escalated_issues from {name}"));
    read_command(&url, "attention", "table")
        .run()
        .refused(CONFIG, &["lacks rights", "SELECT on sweep.escalated_issues"]);
    let answer = ask(&served(&url), "GET /", &[]);
    assert!(answer.status == 503 && fields(&answer.body, "why")[0].contains("lacks rights"), "{}", answer.body);
}

#[test]
fn a_role_that_may_only_read_is_enough_and_changes_nothing_on_the_native_host() {
    a_role_that_may_only_read_is_enough_and_changes_nothing(On::Postgres);
}

#[test]
fn a_role_that_may_only_read_is_enough_and_changes_nothing_on_paperclip() {
    a_role_that_may_only_read_is_enough_and_changes_nothing(On::Paperclip);
}

#[test]
fn a_hot_standby_shows_what_its_primary_shows_and_its_plan_is_applied_on_the_primary() {
    let primary = Server::start().with_orphans(5);
    run(&mut connect(&primary.url), HELD);
    let standby = primary.standby();

    assert_all_read(&standby.url, &mut Client::start_read_only(&standby.url));
    assert_eq!(explained(&standby.url), explained(&primary.url));
    assert_eq!(foreseen(&standby.url), foreseen(&primary.url));
    let migrated = migrate_at(&standby.url, []).run().done();
    assert!(migrated.out.contains("up to date"), "{migrated}");

    let directory = tempfile::tempdir().expect("a temporary directory");
    let plan = directory.path().join("plan.json").display().to_string();
    std::fs::write(&plan, read_command(&standby.url, "--dry-run", "json").run().done().out).expect("a file");
    for words in [&[][..], &["--output", "json"], &["--apply", &plan]] {
        let ran = sweep_at(&standby.url, words.iter().copied()).run();
        ran.refused(UNAVAILABLE, &["hot standby", "only a dry run works on it"]);
    }
    let add = command_at(&standby.url, ["exempt", "add", "issue", "T-1", "--reason", "a call"]).run();
    add.refused(UNAVAILABLE, &["hot standby"]);

    let applied = sweep_at(&primary.url, ["--apply", &plan, "--output", "json"]).run().done();
    assert_eq!(applied.json()["kinds"]["issues"]["continued"], 3, "{applied}");
}
