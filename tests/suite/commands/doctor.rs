//! `sweep doctor`: what is not well is found, with what to do about it, and nothing is written. P23.

use std::fs::{Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use rstest::rstest;
use serde_json::Value;

use crate::support::databases::{connect, run};
use crate::support::mail::MailServer;
use crate::support::pooler::Pooler;
use crate::support::program::{BINARY, Program, Ran, command_at, sweep};
use crate::support::receiver::Receiver;
use crate::support::scratch::{Role, Scratch, new_file, psql};
use crate::support::server::Server;
use crate::support::world::{On, World, on_each_host};

const SOME_FAILED: i32 = 1;
const GUARDED: i32 = 4;
const UNAVAILABLE: i32 = 69;
const CONFIG: i32 = 78;

fn doctor(url: &str) -> Program {
    command_at(url, ["doctor", "--output", "json"])
}

/// The mark of a check, what it found, and what it advises.
fn checkup(ran: &Ran, name: &str) -> (String, String, String) {
    let diagnosis = ran.json();
    let all = diagnosis["checkups"].as_array().expect("checks");
    let found = all.iter().find(|checkup| checkup["name"] == name).unwrap_or_else(|| panic!("no {name}: {ran}"));
    let text = |field: &str| found[field].as_str().unwrap_or_default().to_owned();
    (text("mark"), text("found"), text("advice"))
}

/// Expects this exit code, this mark, these words in what was found, and advice unless all is well.
#[track_caller]
fn assert_found(ran: &Ran, code: i32, name: &str, expected: &str, words: &str) {
    let (mark, found, advice) = checkup(ran, name);
    assert_eq!((ran.code, mark.as_str()), (code, expected), "{ran}");
    assert!(found.contains(words), "“{words}” is not in: {found}");
    assert_eq!(advice.is_empty(), expected == "ok", "{ran}");
}

on_each_host! {
    /// P23
    fn a_sound_installation_has_no_problem_and_nothing_is_written(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);
        world.sweep();
        let before = (world.rows_written(), world.count("sweeps"));

        let ran = doctor(&world.url).run().done();

        assert_found(&ran, 0, "schedule", "ok", "The last sweep of everything succeeded");
        for name in ["settings", "connection", "schema", "host", "guard", "quarantine", "wakes", "notifications"] {
            assert_found(&ran, 0, name, "ok", "");
        }
        assert_eq!((world.rows_written(), world.count("sweeps")), before);
    }

    fn what_is_in_quarantine_is_a_problem(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.run(&format!(
            "insert into failures (kind, subject_id, sweeps, reason, quarantined_at)
             select 'issue', id, 3, 'it failed', updated_at from issues where id = '{issue}'"
        ));
        assert_found(&doctor(&world.url).run(), SOME_FAILED, "quarantine", "problem", "1 subject is in it");
    }

    fn a_schedule_that_is_dead_is_a_problem_also_in_shadow(world) {
        assert_found(&doctor(&world.url).run(), 0, "schedule", "warning", "no sweep has run yet");
        for minutes in [130, 125, 120] {
            world.swept(minutes, (0, 1), "exit_code, succeeded", "0, true");
        }
        let ran = doctor(&world.url).run();
        assert_found(&ran, SOME_FAILED, "schedule", "problem", "is it still scheduled?");
        world.run("delete from sweeps");
        world.swept(60, (0, 1), "exit_code, is_restricted", "0, true");
        assert_found(&doctor(&world.url).run(), 0, "schedule", "warning", "No sweep of everything has succeeded yet");
        world.run("delete from sweeps");
        world.swept(3 * 24 * 60, (0, 1), "exit_code, is_restricted", "0, true");
        let ran = doctor(&world.url).run();
        assert_found(&ran, SOME_FAILED, "schedule", "problem", "The last one of any kind began 3d ago");
    }
}

#[test]
fn what_the_guard_holds_back_is_a_problem_and_the_schedule_is_not() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.sweep();
    world.orphans(&agent, 0..30);
    world.sweep_guarded();
    let ran = doctor(&world.url).run();
    assert_found(&ran, GUARDED, "guard", "problem", "");
    assert_found(&ran, GUARDED, "schedule", "warning", "The guard holds work back");
}

#[test]
fn notifications_that_were_given_up_are_a_problem() {
    let mut world = World::new(On::Sqlite);
    world.notified("escalated", None, 2, false);
    let given_up = world.ago(60);
    world.run(&format!("update notifications set dead_at = {given_up}, last_error = 'HTTP 404'"));
    let ran = doctor(&world.url).run();
    assert_found(&ran, UNAVAILABLE, "notifications", "problem", "1 was given up in the last week: HTTP 404");
}

/// P23
#[test]
fn a_role_that_may_only_read_is_enough() {
    let world = World::new(On::Postgres);
    psql(&world.url, include_str!("../../../deploy/postgres/role.sql")).expect("the roles");
    let as_role = |role: &str| doctor(&format!("{}&user={role}", world.url)).run();
    assert_found(&as_role("sweep_reader"), 0, "rights", "warning", "may look, and not sweep: it lacks ");
    assert_found(&as_role("sweeper"), 0, "rights", "ok", "may look and sweep, and may not migrate");
    let role = Role::new();
    let ran = doctor(&role.at(&world.url)).run();
    assert_found(&ran, CONFIG, "schema", "problem", "lacks rights: USAGE on schema sweep");
    assert!(checkup(&ran, "schema").2.contains("role.sql"), "{ran}");
    assert!(!ran.out.contains("secret"), "{ran}");
}

#[test]
fn a_standby_can_be_looked_at_and_is_said_to_be_one() {
    let primary = Server::start().with_orphans(1);
    let standby = primary.standby();
    let ran = doctor(&standby.url).run();
    assert_found(&ran, 0, "server", "warning", "a hot standby");
    assert_found(&ran, 0, "schema", "ok", "up to date");
    assert_found(&doctor(&primary.url).run(), 0, "server", "ok", "");
}

/// P23: PostgreSQL never gives it a transaction id, and a file keeps every byte.
#[test]
fn the_database_is_as_it_was() {
    let server = Server::start().with_orphans(3);
    let next = |server: &Server| psql(&server.url, "select pg_snapshot_xmax(pg_current_snapshot())").expect("an id");
    let before = next(&server);
    doctor(&server.url).run().done();
    assert_eq!(next(&server), before);

    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphan(&agent);
    world.run("pragma wal_checkpoint(truncate)");
    let path = world.url.strip_prefix("sqlite://").expect("a path").to_owned();
    let before = std::fs::read(&path).expect("the file");
    doctor(&world.url).run().done();
    assert!(before == std::fs::read(&path).expect("the file"));
}

/// The negative control: a command that does write is noticed in both ways.
#[test]
fn a_command_that_writes_leaves_a_trace() {
    let server = Server::start().with_orphans(1);
    let next = || psql(&server.url, "select pg_snapshot_xmax(pg_current_snapshot())").expect("an id");
    let before = next();
    command_at(&server.url, ["exempt", "add", "issue", "T-1", "--reason", "x"]).run().done();
    assert_ne!(next(), before);

    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.run("pragma wal_checkpoint(truncate)");
    let path = world.url.strip_prefix("sqlite://").expect("a path").to_owned();
    let before = std::fs::read(&path).expect("the file");
    command_at(&world.url, ["exempt", "add", "issue", &issue.0, "--reason", "x"]).run().done();
    world.run("pragma wal_checkpoint(truncate)");
    assert!(before != std::fs::read(&path).expect("the file"));
}

#[test]
fn a_schema_that_is_missing_behind_broken_or_altered_is_a_problem() {
    let scratch = Scratch::empty();
    let ran = doctor(&scratch.url).run();
    assert_found(&ran, CONFIG, "schema", "problem", "is not set up for sweep: run `sweep migrate`");
    assert_found(&ran, CONFIG, "clock", "ok", "");
    let (_directory, _, empty) = new_file();
    assert_found(&doctor(&empty).run(), CONFIG, "schema", "problem", "run `sweep migrate`");

    let broken = |change: &str, says: &str, advises: &str| {
        let mut world = World::new(On::Postgres);
        world.run(change);
        let ran = doctor(&world.url).run();
        assert_found(&ran, CONFIG, "schema", "problem", says);
        assert!(checkup(&ran, "schema").2.contains(advises), "{ran}");
    };
    broken(
        "delete from sweep.__diesel_schema_migrations where version = \
         (select max(version) from sweep.__diesel_schema_migrations)",
        "is behind this sweep",
        "sweep migrate",
    );
    broken("drop view sweep.escalated_issues cascade", "is broken: ", "A broken schema");
    broken("alter table sweep.recoveries alter column reason set default 'x'", "is altered since", "A broken schema");
}

#[test]
fn a_clock_that_is_wrong_is_noticed() {
    let world = World::new(On::Postgres);
    let mut command = Command::new("faketime");
    command.args(["-f", "+1h", BINARY, "doctor", "--output", "json", "--database", &world.url]);
    let ran = Program::from_command(command).env("FAKETIME_DONT_FAKE_MONOTONIC", "1").run();
    assert_found(&ran, 0, "clock", "warning", "behind this machine's");
    assert_found(&doctor(&world.url).run(), 0, "clock", "ok", "agree");
}

#[test]
fn a_pooler_is_noticed_where_notifications_would_not_pass_it() {
    let world = World::new(On::Postgres);
    let pooler = Pooler::start(1);
    let url = pooler.url(world.name());
    assert_found(&doctor(&url).run(), 0, "pooler", "warning", "a transaction pooler");
    let ran = doctor(&url).env("SWEEP_LISTEN", "off").run();
    assert_found(&ran, 0, "pooler", "ok", "nobody listens");
    let ran = doctor(&url).env("SWEEP_LISTEN_URL", &world.url).run();
    assert_found(&ran, 0, "pooler", "ok", "leads to the same database");
    let other = World::new(On::Postgres);
    let ran = doctor(&url).env("SWEEP_LISTEN_URL", &other.url).run();
    assert_found(&ran, CONFIG, "pooler", "problem", "leads to the database");
    assert_found(&doctor(&world.url).run(), 0, "pooler", "ok", "none is noticed");
}

#[test]
fn runs_that_end_unheard_are_a_problem_only_where_somebody_relies_on_them() {
    let world = World::new(On::Paperclip);
    assert_found(&doctor(&world.url).run(), 0, "listening", "ok", "sweep migrate --with-listen");
    let ran = doctor(&world.url).env("SWEEP_LISTEN", "on").run();
    assert_found(&ran, CONFIG, "listening", "problem", "nothing notifies of runs that end");
}

/// P23
#[test]
fn receivers_are_connected_to_and_sent_nothing() {
    let world = World::new(On::Sqlite);
    let receiver = Receiver::new();
    let program = doctor(&world.url).env("SWEEP_SLACK_URL", receiver.url()).env("SWEEP_PING_URL", receiver.url());
    let ran = program.run().done();
    assert_found(&ran, 0, "slack", "ok", "nothing was sent");
    assert_found(&ran, 0, "ping", "ok", "nothing was sent");
    assert_eq!(receiver.requests().len(), 0);

    let ran = doctor(&world.url).env("SWEEP_SLACK_URL", "http://127.0.0.1:1/hunter2").run();
    assert_found(&ran, UNAVAILABLE, "slack", "problem", "cannot be reached");
    let without_tls = receiver.url().replace("http://", "https://");
    let ran = doctor(&world.url).env("SWEEP_PING_URL", without_tls).run();
    assert_found(&ran, UNAVAILABLE, "ping", "problem", "TLS");
    assert!(!ran.out.contains("hunter2"), "{ran}");
}

/// P23
#[test]
fn a_server_of_mail_is_logged_in_to_and_gets_no_mail() {
    let (world, server) = (World::new(On::Sqlite), MailServer::new("tls"));
    let url = |login: &str| server.url("smtps", &format!("{login}:hunter2%3A%201@"), "ops@sweep.example");
    let doctor = |url: &str| doctor(&world.url).env("SWEEP_EMAIL_URL", url).env("SSL_CERT_FILE", server.certificate());
    assert_found(&doctor(&url("user")).run().done(), 0, "email", "ok", "nothing was sent");
    assert_found(&doctor(&url("other")).run(), UNAVAILABLE, "email", "problem", "the password is refused");
    assert!(server.rest().is_empty());
}

#[test]
fn what_is_wrong_with_the_settings_or_away_keeps_no_other_check_from_being_made() {
    let world = World::new(On::Sqlite);
    let receiver = Receiver::new();
    let ran = doctor(&world.url).env("SWEEP_DEADLINE", "soon").env("SWEEP_SLACK_URL", receiver.url()).run();
    assert_found(&ran, CONFIG, "settings", "problem", "SWEEP_DEADLINE");
    assert_found(&ran, CONFIG, "slack", "ok", "nothing was sent");
    assert_found(&ran, CONFIG, "schema", "ok", "");

    let with_ping = |url: &str| doctor(url).env("SWEEP_PING_URL", receiver.url());
    let ran = with_ping(&world.url).env("SWEEP_SLACK_URL", "https://10.0.0.1/hooks/x").run();
    assert_found(&ran, CONFIG, "settings", "problem", "SWEEP_SLACK_URL: its address is in a private network");
    assert_found(&ran, CONFIG, "ping", "ok", "nothing was sent");
    let ran = with_ping("mysql://elsewhere/x").run();
    assert_found(&ran, CONFIG, "settings", "problem", "expected postgres://");
    assert_found(&ran, CONFIG, "ping", "ok", "nothing was sent");

    let ran = doctor("postgres://sweep@127.0.0.1:1/sweep").run();
    assert_found(&ran, UNAVAILABLE, "connection", "problem", "cannot reach PostgreSQL");
    assert_found(&ran, UNAVAILABLE, "settings", "ok", "");
    let ran = doctor("sqlite:///nowhere.db").run();
    assert_found(&ran, CONFIG, "connection", "problem", "there is no such database");
}

#[rstest]
#[case(0o666, "warning", "others may write to it")]
#[case(0o600, "ok", "can be written to")]
fn the_rights_of_a_file_are_looked_at(#[case] mode: u32, #[case] mark: &str, #[case] says: &str) {
    let world = World::new(On::Sqlite);
    let path = world.url.strip_prefix("sqlite://").expect("a path");
    set_permissions(Path::new(path), Permissions::from_mode(mode)).expect("a file");
    assert_found(&doctor(&world.url).run(), 0, "file", mark, says);
}

#[test]
fn a_connection_to_another_machine_is_to_be_verified() {
    let mut world = World::new(On::Postgres);
    run(&mut connect(&world.url), "select 1");
    let name = world.name().to_owned();
    let url = crate::support::databases::over_tcp(&name, "sslmode=require");
    let ran = doctor(&url).run();
    assert_found(&ran, 0, "tls", "ok", "TLSv1");
    assert_eq!(world.count("sweeps"), 0);
}

#[test]
fn several_databases_are_examined_each_and_the_gravest_counts() {
    let (first, second) = (World::new(On::Sqlite), World::new(On::Sqlite));
    let both = ["doctor", "-d", &first.url, "-d", &second.url, "-d", "sqlite:///nowhere.db"];
    let ran = sweep(both.into_iter().chain(["--output", "json"])).run();
    assert_eq!(ran.code, CONFIG, "{ran}");
    let document = ran.json();
    let codes: Vec<&Value> =
        document["databases"].as_array().expect("three").iter().map(|of| &of["exit_code"]).collect();
    assert_eq!(codes, [&Value::from(0), &Value::from(0), &Value::from(CONFIG)]);
    let table = sweep(both).run();
    assert!(table.out.trim_end().ends_with("3 databases. 1 problem, 2 warnings"), "{table}");
}
