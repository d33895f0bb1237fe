//! Rows of any size, depth and number: a sweep and the status stay small and quick, and serve everybody else.

mod bounded_texts;
mod many_rows;

use std::process::Command;

use chrono::DateTime;
use diesel::connection::SimpleConnection;
use serde_json::Value;
use sweep::rules::{Id, Kind};
use sweep::store::work::quarantine;
use sweep::store::{Access, Db, Timeouts};

use crate::support::databases::{as_swept, connect_server, database_url, run};
use crate::support::program::{BINARY, Program, migrate_at};
use crate::support::rounds::are_all_played;
use crate::support::world::{On, World};

/// The bytes of data that `sweep` may have, its libraries' included; the kernel refuses more.
const MEMORY: u32 = 64 << 20;

/// `sweep` with at most `MEMORY`.
pub(super) fn small<'a>(url: &str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    let mut command = Command::new("prlimit");
    command.arg(format!("--data={MEMORY}")).args(["--", BINARY]).args(arguments).args(["--database", url]);
    Program::from_command(command).env("PATH", "/usr/bin:/bin")
}

/// Runs every command that shows rows with at most `MEMORY`: as JSON, and in the long round for people as well.
fn shows_all(world: &World, subjects: &[(&str, &Id)]) {
    let sessions = vec!["status", "--only", "sessions"];
    let mut commands = vec![vec!["--dry-run"], vec!["status"], sessions, vec!["quarantine", "list"]];
    commands.extend(subjects.iter().map(|(kind, id)| vec!["explain", *kind, &id.0]));
    let formats: &[&str] = if are_all_played() { &["json", "table"] } else { &["json"] };
    for (arguments, format) in commands.iter().flat_map(|it| formats.iter().map(move |format| (it, *format))) {
        let ran = small(&world.url, arguments.iter().copied().chain(["--output", format])).run();
        assert_eq!(ran.code, 0, "{arguments:?}: {}", ran.err);
        let longest = ran.out.lines().flat_map(|line| line.split('"')).map(str::len).max();
        assert!(longest < Some(100_000), "{arguments:?}: {longest:?}");
    }
}

/// A sweep with at most `MEMORY` resumes these issues as it does any others.
fn resumes_all(world: &World, ids: &[&Id]) {
    let ran = small(&world.url, ["--output", "json"]).run();
    assert_eq!(ran.code, 0, "{}", ran.err);
    let report: Value = crate::support::json::parse_valid(&ran.out);
    let subjects = report["subjects"].as_array().expect("subjects");
    for id in ids {
        let subject = subjects.iter().find(|row| row["id"] == id.0).expect("the subject");
        assert_eq!(subject["outcome"], "continued", "{subject}");
    }
}

const HUGE: &str = "repeat('0123456789 ', 9 * 1024 * 1024)";

#[test]
#[ignore = "played on PostgreSQL 18"]
fn texts_of_99_megabytes_cost_a_sweep_of_the_native_host_no_memory() {
    let mut world = World::new(On::Postgres);
    let (busy, other) = (world.agent("idle"), world.agent("idle"));
    let (issue, bystander) = (world.orphan(&busy), world.orphan(&other));
    let (plan, step) = world.stalled_step(Some(&busy));
    let session = world.session(None, None);
    for (table, id, columns) in [
        ("agents", &busy, &["name"][..]),
        ("issues", &issue, &["title"]),
        ("plans", &plan, &["title"]),
        ("plan_steps", &step, &["title"]),
        ("sessions", &session, &["title", "directory", "last_tool", "recent_output"]),
    ] {
        columns.iter().for_each(|column| world.set(table, id, &format!("{column} = {HUGE}")));
    }
    let waiting = world.orphan(&other);
    world.set("issues", &waiting, &format!("waiting_for = {HUGE}"));

    shows_all(&world, &[("issue", &issue), ("issue", &waiting), ("step", &step), ("session", &session)]);
    let plan = small(&world.url, ["status", "--plan", &plan.0]).run();
    assert!(plan.code == 0 && plan.out.len() < 10_000, "{}", plan.err);
    resumes_all(&world, &[&bystander, &issue, &step, &session]);
}

/// The negative control: a program that reads the whole of such a text needs more than `MEMORY`.
#[test]
fn a_text_of_99_megabytes_that_is_read_whole_does_not_fit() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let reads_titles = |world: &World| {
        let mut psql = Command::new("prlimit");
        psql.arg(format!("--data={MEMORY}"))
            .args(["psql", "-XqAt", "-c", "select title from sweep.issues", &world.url]);
        psql.output().expect("psql").status.success()
    };

    assert!(reads_titles(&world));
    world.set("issues", &issue, &format!("title = {HUGE}"));
    assert!(!reads_titles(&world));
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn texts_of_99_megabytes_cost_a_sweep_of_paperclip_no_memory() {
    let mut world = World::new(On::Paperclip);
    let (busy, other) = (world.agent("idle"), world.agent("idle"));
    let (issue, bystander, blocked) = (world.orphan(&busy), world.orphan(&other), world.orphan(&other));
    let too_large = world.orphan(&other);
    let run = world.issue_run(&bystander, &other, "running", 600);
    world.set_run(
        &run,
        &format!("status = 'failed', context_snapshot = context_snapshot || jsonb_build_object('wakeReason', {HUGE})"),
    );
    world.set("agents", &busy, &format!("name = {HUGE}"));
    world.set("issues", &issue, "title = repeat('0123456789 ', 15000)");
    world.set("issues", &too_large, &format!("description = {HUGE}"));
    let company = world.company.clone();
    let blocker = Id::generate();
    world.run(&format!(
        "insert into issues (id, company_id, title, status) values ('{blocker}', '{company}', repeat('0123456789 ', \
            15000), 'todo');
         insert into issue_relations (company_id, issue_id, related_issue_id, type) values ('{company}', '{blocker}', \
         '{blocked}', 'blocks')"
    ));

    shows_all(&world, &[("issue", &issue), ("issue", &blocked), ("issue", &too_large), ("session", &run)]);
    let explained = small(&world.url, ["explain", "issue", &too_large.0]).run().out;
    assert!(explained.contains("it is too large to look at"), "{explained}");
    resumes_all(&world, &[&bystander, &issue]);
}

/// SQLite reads a whole text into memory to return a part of it.
#[test]
fn the_embedded_database_takes_no_text_that_a_sweep_could_not_hold() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let (issue, bystander) = (world.orphan(&agent), world.orphan(&agent));
    let (plan, step) = world.stalled_step(Some(&agent));
    let session = world.session(None, None);
    let run = world.issue_run(&issue, &agent, "failed", 90);
    let wake = world.issue_wake(&issue, &agent, "completed", 90);
    let of_bytes = |n: u32| format!("cast(replace(hex(zeroblob({})), '0', 'x') || char(0) || 'x' as text)", n / 2 - 1);
    for (table, id, columns) in [
        ("agents", &agent, &["name"][..]),
        ("issues", &issue, &["title", "tenant", "identifier", "assignee_user_id", "waiting_for"]),
        ("plans", &plan, &["title", "tenant"]),
        ("plan_steps", &step, &["title"]),
        ("sessions", &session, &["title", "directory", "tenant", "identifier", "last_tool", "recent_output"]),
        ("runs", &run, &["retry_reason"]),
        ("wakes", &wake, &["reason", "requested_by"]),
    ] {
        for column in columns {
            let set = format!("update {table} set {column} = {} where id = '{id}'", of_bytes(1_100_000));
            let error = world.db.batch_execute(&set).expect_err(column).to_string();
            assert!(error.contains("CHECK constraint failed"), "{table}.{column}: {error}");
        }
    }
    // A program that reads a text as C does, up to a NUL, does not see the rest.
    for column in ["updated_at", "created_at", "started_at", "wait_until"] {
        let hidden = format!("{column} = '2026-01-01T00:00:00.000Z' || char(0) || {}", of_bytes(10_000));
        let error = world.db.batch_execute(&format!("update issues set {hidden} where id = '{issue}'"));
        assert!(error.expect_err(column).to_string().contains("CHECK constraint failed"), "{column}");
    }
    let at_most = of_bytes(9_800);
    for (table, id, column) in [
        ("agents", &agent, "name"),
        ("issues", &issue, "title"),
        ("plan_steps", &step, "title"),
        ("sessions", &session, "title"),
    ] {
        world.set(table, id, &format!("{column} = {at_most}"));
    }
    world.set("sessions", &session, &format!("recent_output = {}", of_bytes(990_000)));

    shows_all(&world, &[("issue", &issue), ("step", &step), ("session", &session)]);
    resumes_all(&world, &[&bystander, &issue, &step, &session]);
}

#[test]
fn the_reason_of_a_failure_is_kept_short() {
    for on in [On::Postgres, On::Sqlite] {
        let mut world = World::new(on);
        let (id, long) = (Id::generate(), "x".repeat(5_000));
        let mut db = world.connect_as_sweep();
        let record = |db: &mut Db| quarantine::record(db, Kind::Issue, &id, &long, DateTime::UNIX_EPOCH);
        db.in_transaction(Access::Write, &Timeouts::default(), record).expect("it is recorded");
        assert_eq!(world.text("length(reason)", "failures").as_deref(), Some("1000"));
        let longer = world.db.batch_execute("update failures set reason = reason || 'x'");
        assert!(longer.expect_err("too long").to_string().to_lowercase().contains("check constraint"));
    }
}

/// A database without an encoding takes a byte that is no text.
#[test]
fn a_database_without_an_encoding_is_shown_and_swept() {
    let name = format!("sweep_test_native_{}", Id::generate().0.replace('-', ""));
    run(&mut connect_server(), &format!("create database {name} template template0 encoding 'SQL_ASCII' locale 'C'"));
    migrate_at(&database_url(&name), ["--host", "native"]).run().done();
    let mut world = World::at(On::Postgres, as_swept(&database_url(&name)), None);
    let agent = world.agent("idle");
    let (bad, long) = (world.orphan(&agent), world.orphan(&agent));
    world.set("agents", &agent, r"name = E'Ren\xe9'");
    world.set("issues", &bad, r"title = E'caf\xe9', identifier = E'\xe9'");
    // The title is cut in the middle of a character.
    world.set("issues", &long, "title = 'x' || repeat('\u{e9}', 1000)");

    shows_all(&world, &[("issue", &bad), ("issue", &long)]);
    resumes_all(&world, &[&bad, &long]);
}
