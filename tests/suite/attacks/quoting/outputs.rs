//! Output, logs and records of sweep: no text of others changes a terminal, forges a line or hides a word.

use serde_json::Value;
use sweep::rules::Id;

use super::{UNSEEN, assert_seen};
use crate::support::planted::{LISTS, SWEEPS, plant, quoted as in_sql};
use crate::support::program::{Program, Ran, command_at, migrate_at, sweep, sweep_at};
use crate::support::world::{On, World, on_each_database};

/// Runs a program, and checks that its output is visible, and each line a line of its own.
#[track_caller]
fn says_what_it_shows(program: Program, what: &str) -> Ran {
    let ran = program.env("SWEEP_LOG", "trace").run();
    assert_seen(&ran.out, what);
    assert_seen(&ran.err, what);
    let forged = ran.out.lines().chain(ran.err.lines()).find(|line| line.starts_with("2026-01-01T"));
    assert_eq!(forged, None, "{what}");
    ran
}

/// Runs a program with a log in JSON, and checks that each log line is a document.
#[track_caller]
fn logs_documents(program: Program, what: &str) {
    let ran = says_what_it_shows(program.env("SWEEP_LOG_FORMAT", "json"), what);
    for line in ran.err.lines() {
        let document: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert!(document["level"] != "FORGED" && document["message"].is_string(), "{line}");
    }
}

fn the_one(world: &mut World, id: &str, from: &str) -> Id {
    Id(world.text(&format!("min({id})"), &format!("(select cast({id} as text) as {id} from {from}) r")).expect("an id"))
}

on_each_database! {
    fn no_output_of_rows_holds_what_nobody_sees(world) {
        plant(world, 0, UNSEEN);
        let url = world.url.clone();
        let mut all = String::new();
        for command in [SWEEPS, LISTS].concat() {
            if !command.contains(&"--output") {
                logs_documents(sweep(command.iter().copied()).env("DATABASE_URL", &url), "documents");
            }
            let ran =
                says_what_it_shows(sweep(command.iter().copied()).env("DATABASE_URL", &url), &format!("{command:?}"));
            if command.contains(&"json") {
                ran.json();
            }
            all = all + &ran.out + &ran.err;
            world.end_continuations("failed");
            world.pass(10);
        }
        let subjects = [
            ("issue", the_one(world, "id", "issues where waiting_for is not null")),
            ("step", the_one(world, "id", "plan_steps")),
            ("session", the_one(world, "id", "sessions")),
        ];
        for (kind, Id(id)) in &subjects {
            for output in ["table", "json"] {
                let explain = command_at(&url, ["explain", kind, id, "--output", output]);
                all += &says_what_it_shows(explain, &format!("explain {kind}")).done().out;
            }
            let exempt = ["exempt", "add", kind, id, "--reason", UNSEEN];
            all += &says_what_it_shows(command_at(&url, exempt), "exempt").done().out;
        }
        let plan = the_one(world, "plan_id", "plan_steps");
        all += &says_what_it_shows(command_at(&url, ["status", "--plan", &plan.0]), "status --plan").done().out;
        for lantern in [
            "in-identifier-0,",
            "in-wait-0,",
            "in-agent-0,",
            "in-tenant-0,",
            "in-error-0,",
            "in-session-0,",
            "in-output-0,",
        ] {
            assert!(all.contains(lantern), "{lantern} is not to be seen: {all}");
        }
        assert!(all.contains("ERROR forged"), "what can be read stays: {all}");
    }

    /// Prometheus, /metrics and node_exporter see only names of sweep's own.
    fn no_word_of_others_is_in_the_metrics(world) {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("a plain path");
        let written = |world: &World| {
            sweep_at(&world.url, ["--set", &format!("metrics_file={path}")]).run();
            let text = std::fs::read_to_string(path).expect("metrics");
            let name = |line: &str| line.rsplit_once(' ').expect("a value").0.to_owned();
            // A metric that exists only while something waits comes and goes.
            let lasting = text.lines().filter(|line| !line.contains("oldest_timestamp_seconds"));
            lasting.map(|line| if line.starts_with('#') { line.to_owned() } else { name(line) }).collect::<Vec<_>>()
        };
        escalation_of_a_session(world);
        let harmless = written(world);
        plant(world, 0, UNSEEN);
        assert_eq!(written(world), harmless);
    }
}

fn escalation_of_a_session(world: &mut World) {
    let agent = world.agent("idle");
    let session = world.session(Some(&agent), None);
    world.ends(&session, "1");
    world.orphan(&agent);
    world.stalled_step(Some(&agent));
}

/// Checks that a status or a wait of a host's, which becomes a reason, is visible in the ledger and in the host's
/// activity log.
fn keeps_what_can_be_read(on: On, column: &str, log: &str) {
    let mut world = World::new(on);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.sweep();
    world.end_continuations("failed");
    world.set("issues", &issue, &format!("{column} = {}", in_sql(&format!("{UNSEEN} password=hunter2"))));

    assert_eq!(world.sweep().outcome(&issue), "handed_over");

    let kept = world.text("reason", &format!("recoveries where subject_id = '{issue}' and action = 'hand_over'"));
    let kept = kept.expect("a reason");
    assert_seen(&kept, "the ledger");
    assert!(kept.lines().count() == 1 && kept.ends_with("forged password=***"), "{kept}");
    let logged = world.text("details", &format!("{log} where action = 'issue.hand_over'")).expect("details");
    assert!(!logged.contains("hunter2") && !logged.contains("\\u") && logged.contains("forged"), "{logged}");
}

#[test]
fn what_the_ledger_and_the_hosts_log_keep_of_others_can_be_read_and_holds_no_credential() {
    keeps_what_can_be_read(On::Postgres, "waiting_for", "activity");
    keeps_what_can_be_read(On::Sqlite, "waiting_for", "activity");
    keeps_what_can_be_read(On::Paperclip, "status", "activity_log");
}

/// On SQLite ids, those of agents too, are text of others.
#[test]
fn an_id_of_sqlite_shows_what_it_holds() {
    let mut world = World::new(On::Sqlite);
    world.run("pragma foreign_keys = off");
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let (its_id, his_id) = (in_sql(&format!("issue {UNSEEN}")), in_sql(&format!("agent {UNSEEN} password=hunter2")));
    world.run(&format!("update agents set id = {his_id} where id = '{agent}'"));
    world.run(&format!("update issues set id = {its_id}, assignee_agent_id = {his_id} where id = '{issue}'"));
    for output in ["json", "ndjson", "table"] {
        let ran = says_what_it_shows(sweep_at(&world.url, ["--dry-run", "--output", output]), output).done();
        assert!(!ran.out.contains("hunter2") && ran.out.contains("continue"), "{ran}");
    }
    let plan = sweep_at(&world.url, ["--dry-run", "--output", "json"]).run().done();
    assert!(
        plan.json()["subjects"][0]["agent_id"].as_str().is_some_and(|id| id.starts_with("agent a[31mb]0;owned")),
        "{plan}"
    );
}

/// Names that an operator pasted, a file that somebody else named, an argument from a ticket.
#[test]
fn no_message_repeats_what_nobody_sees() {
    let world = World::new(On::Sqlite);
    let url = &world.url;
    let directory = tempfile::tempdir().expect("a directory");
    let path = format!("{}/{}", directory.path().display(), UNSEEN.replace('/', ""));
    let (database, nowhere) = (format!("sqlite://{path}"), format!("/dev/null/{UNSEEN}"));
    for arguments in [
        vec![UNSEEN],
        vec!["--limit", UNSEEN],
        vec!["--only", UNSEEN],
        vec!["--database", &database],
        vec!["--database", url, "--tenant", UNSEEN],
        vec!["--database", url, "--issue", UNSEEN],
        vec!["--database", url, "--apply", &path],
        vec!["--database", url, "--set", &format!("metrics_file={path}"), "--config", &path],
        vec!["--database", url, "--set", &format!("metrics_file={path}"), "--output", UNSEEN],
        vec!["explain", "issue", UNSEEN, "--database", url],
        vec!["quarantine", "release", "issue", UNSEEN, "--database", url],
        vec!["status", "--plan", UNSEEN, "--database", url],
        vec!["watch", "--database", url, "--log", directory.path().to_str().expect("a path"), "--", UNSEEN],
        vec!["watch", "--database", url, "--agent", UNSEEN, "--", "true"],
        vec!["watch", "--database", url, "--", UNSEEN],
        vec!["man", &nowhere],
    ] {
        let ran = says_what_it_shows(sweep(arguments.iter().copied()), &format!("{arguments:?}"));
        assert!(ran.code != 0 && ran.err.contains("sweep: "), "{arguments:?}: {ran}");
        assert_eq!(ran.err.lines().filter(|line| line.starts_with("sweep: ")).count(), 1, "{ran}");
    }
    let set =
        [("SWEEP_LIMIT", UNSEEN), ("SWEEP_LOG_FORMAT", UNSEEN), ("SWEEP_NONSENSE", UNSEEN), ("SWEEP_SCHEDULE", UNSEEN)];
    for (name, value) in set {
        for command in [vec!["daemon", "--database", url], vec!["config"], vec!["config", "--output", "json"]] {
            assert_ne!(says_what_it_shows(sweep(command).env(name, value), name).code, 0, "{name}");
        }
    }
}

/// Operators' own words are shown visibly as well: others read a report and a plan.
#[test]
fn a_file_and_a_message_of_any_name_are_shown_and_a_plan_for_them_is_applied() {
    let directory = tempfile::tempdir().expect("a directory");
    let url = format!("sqlite://{}/a\u{202e}b\u{200b}c\u{9b}d.db", directory.path().display());
    let nudge = "Go on \u{202e}now\u{e0041}";
    says_what_it_shows(migrate_at(&url, []), "migrate").done();
    let dry_run = ["--dry-run", "--output", "json", "--set", &format!("nudge_message={nudge}")];
    let plan = says_what_it_shows(sweep_at(&url, dry_run), "a plan").done();
    says_what_it_shows(
        sweep_at(&url, ["--dry-run", "--output", "ndjson", "--set", &format!("nudge_message={nudge}")]),
        "ndjson",
    )
    .done();
    says_what_it_shows(sweep(["config"]).env("DATABASE_URL", &url).env("SWEEP_NUDGE_MESSAGE", nudge), "config").done();
    let file = directory.path().join("plan.json");
    std::fs::write(&file, &plan.out).expect("a plan");
    let apply = ["--apply", "-", "--set", &format!("nudge_message={nudge}")];
    says_what_it_shows(sweep_at(&url, apply).with_stdin(&file), "apply").done();
}

#[test]
fn completions_manuals_and_help_hold_nothing_of_others() {
    for command in [["completions", "bash"], ["completions", "zsh"], ["help", "watch"], ["daemon", "--help"]] {
        let plain = sweep(command).run().done().out;
        let set = sweep(command).env("SWEEP_NUDGE_MESSAGE", UNSEEN).env("DATABASE_URL", UNSEEN);
        assert_eq!(says_what_it_shows(set, command[0]).done().out, plain, "{command:?}");
    }
}
