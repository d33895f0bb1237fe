//! Servers as operators run them: TLS, roles that may only read, and crashes.

use std::io::{BufRead, BufReader, Read};
use std::process::Command;

use serde_json::Value;

use crate::support::databases::{connect, over_tcp};
use crate::support::json;
use crate::support::program::{BINARY, sweep_at};
use crate::support::scratch::{Role, grant_calls};
use crate::support::server::Server;
use crate::support::world::{On, World};

const UNAVAILABLE: i32 = 69;
const CONFIG: i32 = 78;

/// The subjects of a dry run, without what differs between two moments.
fn subjects(url: &str) -> Value {
    let ran = sweep_at(url, ["--dry-run", "--output", "json"]).run().done();
    let mut subjects = ran.json()["subjects"].take();
    let rows = subjects.as_array_mut().expect("subjects");
    rows.iter_mut().for_each(|row| row["idle_seconds"] = Value::Null);
    rows.sort_by_key(|row| row["id"].to_string());
    subjects
}

fn count(url: &str, from: &str) -> i64 {
    let sql = diesel::dsl::sql::<diesel::sql_types::BigInt>(&format!("select count(*) from {from}"));
    match &mut connect(url) {
        sweep::store::Db::Postgres(db) => diesel::RunQueryDsl::get_result(sql, db).expect("a count"),
        sweep::store::Db::Sqlite(_) => unreachable!("a URL of PostgreSQL"),
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
fn tls_is_used_and_the_servers_certificate_is_verified() {
    let (world, directory) = (World::new(On::Postgres), tempfile::tempdir().expect("a temporary directory"));
    let with = |further: &str| sweep_at(&over_tcp(world.name(), further), []).run();
    let ca = std::env::var("TEST_TLS_CA").expect("TEST_TLS_CA: run the tests by `make test`");
    let [anothers, key] = ["ca.crt", "ca.key"].map(|file| directory.path().join(file).display().to_string());
    let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=another";
    let files = ["-keyout", &key, "-out", &anothers];
    let made = Command::new("openssl").args(request.split(' ').chain(files)).output();
    assert!(made.expect("openssl").status.success());

    with("sslmode=require").done();
    with(&format!("sslmode=verify-full sslrootcert={ca}")).done();
    let refused = ["cannot connect to PostgreSQL", "certificate verify failed"];
    with(&format!("sslmode=verify-full sslrootcert={anothers}")).refused(CONFIG, &refused);
    with("sslmode=verify-full sslrootcert=/nonexistent").refused(CONFIG, &["/nonexistent", "does not exist"]);
    let by_address = over_tcp(world.name(), &format!("sslmode=verify-full sslrootcert={ca}"))
        .replace("host=localhost ", "host=127.0.0.1 ");
    sweep_at(&by_address, []).run().refused(CONFIG, &["does not match host name"]);
}

/// P3, P12
#[test]
fn a_server_that_crashes_in_the_middle_of_a_sweep_ends_it_truthfully_and_the_next_one_finishes() {
    let server = Server::start().with_orphans(800);

    let mut program = sweep_at(&server.url, ["--output", "ndjson"]);
    let mut sweep = program.start();
    let mut out = BufReader::new(sweep.stdout.take().expect("a pipe"));
    let mut err = sweep.stderr.take().expect("a pipe");
    let errors = std::thread::spawn(move || {
        let mut text = Vec::new();
        err.read_to_end(&mut text).map(|_| text)
    });
    let mut lines = String::new();
    let heading_and_subjects = 1 + 20;
    for _ in 0..heading_and_subjects {
        out.read_line(&mut lines).expect("a line");
    }
    server.crash();
    out.read_to_string(&mut lines).expect("a report");
    let mut output = sweep.wait_with_output().expect("an end");
    (output.stdout, output.stderr) = (lines.into_bytes(), errors.join().expect("a thread").expect("errors"));
    let ran = program.ended(output);

    ran.says_once(UNAVAILABLE, &["the sweep could not go on"]);
    let rows: Vec<Value> = ran.out.lines().map(json::parse_valid).collect();
    let reported = |outcome: &str| rows.iter().filter(|row| row["outcome"] == outcome).count() as i64;
    let (last, continued) = (rows.last().expect("a summary"), reported("continued"));
    assert_eq!(last["ended"], "failed");
    assert_eq!(last["kinds"]["issues"]["continued"], continued);
    assert!((20..800).contains(&continued), "{continued}: {ran}");

    sweep_at(&server.url, []).run().refused(UNAVAILABLE, &["cannot reach PostgreSQL"]);
    server.restart();

    let wakes = count(&server.url, "sweep.wakes");
    assert!((continued..=continued + reported("unknown")).contains(&wakes), "{wakes} wakes, {continued} continued");
    assert_eq!(count(&server.url, "sweep.recoveries"), wakes);
    sweep_at(&server.url, []).run().done();
    assert_eq!(count(&server.url, "(select distinct issue_id from sweep.wakes) as issues"), 800);
    assert_eq!(count(&server.url, "sweep.wakes"), 800);
}

fn a_role_that_may_only_read_sees_the_same(on: On) {
    let role = Role::new();
    let mut world = World::new(on);
    let agent = world.agent("idle");
    let issues = [world.orphan(&agent), world.orphan(&agent)];
    world.issue_run(&issues[0], &agent, "failed", 30);
    if on == On::Postgres {
        world.stalled_step(Some(&agent));
    }
    let (url, relations) = (
        role.at(&world.url),
        match on {
            On::Postgres => {
                "exemptions, agent_exemptions, tenant_exemptions, failures, interventions, issue_subjects, \
                 issue_candidates, issue_facts, issue_decided_facts, step_subjects, step_candidates, step_facts, \
                 step_decided_facts, session_subjects, session_candidates, session_facts, session_decided_facts"
            }
            On::Paperclip | On::Sqlite => {
                "exemptions, agent_exemptions, tenant_exemptions, failures, interventions, issue_subjects, \
                 issue_candidates, issue_facts, issue_decided_facts, session_subjects, session_candidates, \
                 session_facts, session_decided_facts"
            }
        },
    );
    let select = format!("select on __diesel_schema_migrations, host, {relations}");
    world.run(&grant_calls(&role.name));
    for right in ["usage on schema sweep", &select] {
        let right = right.replace("on __diesel", "on sweep.__diesel").replace(", ", ", sweep.");
        world.run(&format!("grant {right} to {}", role.name));
    }

    let seen = subjects(&url);

    assert_eq!(seen, subjects(&world.url));
    assert_eq!(seen.as_array().map(Vec::len), Some(if on == On::Postgres { 3 } else { 2 }));
    sweep_at(&url, []).run().refused(CONFIG, &["lacks rights", "UPDATE on sweep.issues"]);
}

#[test]
fn a_role_that_may_only_read_sees_the_same_on_the_native_host() {
    a_role_that_may_only_read_sees_the_same(On::Postgres);
}

#[test]
fn a_role_that_may_only_read_sees_the_same_on_paperclip() {
    a_role_that_may_only_read_sees_the_same(On::Paperclip);
}

#[test]
fn the_binary_brings_its_own_libpq_and_sqlite() {
    let ldd = Command::new("ldd").arg(BINARY).output().expect("ldd");
    let libraries = String::from_utf8_lossy(&ldd.stdout);
    assert!(libraries.contains("libc"), "{libraries}");
    for (library, is_linked) in [("libpq", false), ("libsqlite3", false), ("libssl", true), ("libcrypto", true)] {
        assert_eq!(libraries.contains(library), is_linked, "{library}: {libraries}");
    }
}

/// A reader in another place must not take the server's hour for theirs.
#[test]
fn a_server_in_another_zone_says_until_when_an_issue_waits_in_utc() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let session = world.session(Some(&agent), Some(&issue));
    world.set("issues", &issue, "wait_until = '2099-01-02 03:04:05+00'");
    world.run("set timezone = 'Asia/Tokyo'");
    for (facts, id) in [("issue_facts", &issue), ("session_facts", &session)] {
        let wait = world.text("declared_wait", &format!("{facts} where subject_id = '{id}'")).expect("a wait");
        assert!(wait.ends_with("until 2099-01-02 03:04"), "{facts}: {wait}");
    }
}
