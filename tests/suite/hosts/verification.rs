//! `sweep host verify`: each host that is built in, and the example of a team's own, keeps every promise; one that does
//! not is found out, by the promise that it breaks.

mod broken_promises;
mod copies;
mod coverage;
mod dead_and_taken;
mod some_checks;
mod undecided;

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use rstest::rstest;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::folder::{Folder, example};
use crate::support::program::{Ran, command_at};
use crate::support::scratch::{Scratch, hand_over, new_file};

const SOME_FAILED: i32 = 1;
const CONFIG: i32 = 78;

/// Verifies a host beside 2,000 rows; the default of the command is 100,000.
fn verify(url: &str, host: &[&str]) -> Ran {
    let words = ["host", "verify"].into_iter().chain(host.iter().copied());
    command_at(&hand_over(url), words.chain(["--rows", "2000", "--output", "json"])).run()
}

/// Plays this check alone, after the installation.
fn verify_one(url: &str, folder: &Folder, check: &str) -> Ran {
    verify(url, &["--host-dir", &folder.path().display().to_string(), "--check", check])
}

/// Plays these checks, and each is kept.
#[track_caller]
fn keeps(database: &Scratch, folder: &Folder, checks: &[&str]) {
    let folder = folder.path().display().to_string();
    let flags = checks.iter().flat_map(|check| ["--check", check]);
    let ran = verify(&database.url, &["--host-dir", &folder].into_iter().chain(flags).collect::<Vec<_>>()).done();
    let certificate = ran.json();
    let broken: Vec<_> = verdicts(&certificate).into_iter().filter(|(_, verdict)| *verdict != "kept").collect();
    assert_eq!(broken, [], "{certificate:#}");
}

fn tables() -> Scratch {
    let database = Scratch::empty();
    database.run(&std::fs::read_to_string(example("tables.sql")).expect("the tables"));
    database
}

#[track_caller]
fn keeps_all(ran: Ran) {
    let certificate = ran.json();
    let checks = certificate["checks"].as_array().unwrap_or_else(|| panic!("no checks: {ran}"));
    // A host whose tables allow much has not all of it in its fixtures, and says so.
    let is_broken = |check: &&Value| check["verdict"] != "kept" && check["name"] != "coverage";
    let broken: Vec<&Value> = checks.iter().filter(is_broken).collect();
    assert!(broken.is_empty(), "not kept: {broken:#?}");
    assert_eq!(checks.len(), 13, "{certificate:#}");
    ran.done();
    assert_eq!((&certificate["holds"], &certificate["left_out"]), (&true.into(), &Value::Array(Vec::new())));
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn native_keeps_every_promise_on_postgres() {
    keeps_all(verify(&Scratch::empty().url, &["native"]));
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn native_keeps_every_promise_on_sqlite() {
    let (_directory, _, url) = new_file();
    keeps_all(verify(&url, &["native"]));
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn paperclip_keeps_every_promise() {
    let database = Scratch::paperclip();
    hand_over(&database.url);
    let before = database.catalog();
    keeps_all(verify(&database.url, &["paperclip"]));
    assert_eq!(database.catalog(), before, "it is copied, and stays as it is");
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn a_teams_own_tables_keep_every_promise_on_postgres() {
    keeps_all(verify(&tables().url, &["--host-dir", &example("").display().to_string()]));
}

/// What is written to a part is written to its table.
#[test]
#[ignore = "played on PostgreSQL 18"]
fn tables_in_parts_keep_every_promise() {
    let database = tables();
    database.run(
        "drop table jobs; create sequence job_ids;
         create table jobs (
             id bigint not null default nextval('job_ids'), task_id bigint not null references tasks,
             worker_id bigint not null references workers, state text not null default 'queued',
             queued_at timestamptz not null default now(), ended_at timestamptz
         ) partition by hash (task_id);
         create table jobs_0 partition of jobs for values with (modulus 2, remainder 0);
         create table jobs_1 partition of jobs for values with (modulus 2, remainder 1);
         create index on jobs (id);
         create index on jobs (task_id, queued_at); create index on jobs (queued_at) where state = 'queued'",
    );
    keeps_all(verify(&database.url, &["--host-dir", &example("").display().to_string()]));
}

#[test]
fn a_teams_own_tables_keep_every_promise_on_sqlite() {
    let (_directory, path, url) = file();
    let before = std::fs::read(&path).expect("the file");
    keeps_all(verify(&url, &["--host-dir", &example("").display().to_string()]));
    assert_eq!(std::fs::read(&path).expect("the file"), before, "it is copied, and stays as it is");
}

fn file() -> (TempDir, std::path::PathBuf, String) {
    let (directory, path, url) = new_file();
    let mut db = SqliteConnection::establish(&path.display().to_string()).expect("a file");
    let tables = std::fs::read_to_string(example("tables.sqlite.sql")).expect("the tables");
    db.batch_execute(&tables).expect("the tables");
    (directory, path, url)
}

/// The statement that makes a table of 73 MB.
const FILES: &str = "create table files as
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 730) select zeroblob(100000) from n";

#[rstest]
#[case::memory(
    "create trigger large before insert on tasks begin select randomblob(60000000); end",
    SOME_FAILED,
    "too big"
)]
#[case::copies(FILES, CONFIG, "of at most 64 MiB")]
fn a_file_that_takes_much_to_verify_is_not(#[case] change: &str, #[case] code: i32, #[case] why: &str) {
    let (_directory, path, url) = file();
    let mut db = SqliteConnection::establish(&path.display().to_string()).expect("a file");
    db.batch_execute(change).expect("a change");
    let host = example("").display().to_string();
    let ran = verify(&url, &["--host-dir", &host, "--check", "continuation"]);
    assert_eq!(ran.code, code, "{ran}");
    assert!(format!("{ran}").contains(why), "{ran}");
}

/// A host with derived facts has its candidates made by sweep: here they are the host's own.
#[test]
fn candidates_that_name_too_few_are_found_out_with_what_they_overlook() {
    let folder = Folder::copy_of(Path::new("migrations/hosts/paperclip"));
    folder.replace("host.toml", "\"paperclip\"", "\"too_few\"");
    let facts = "postgres/2026-11-24-001205_issue_facts/up.sql";
    folder.replace(facts, "where r.kind = 'issue' and r.settled_at is null and", "where false and");
    let ran = verify_one(&Scratch::paperclip().url, &folder, "candidates");
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    let certificate = ran.json();
    assert_eq!(verdicts(&certificate), [("installation", "kept"), ("candidates", "broken")], "{certificate:#}");
    let evidence = certificate["checks"][1]["evidence"].to_string();
    for part in ["issue_candidates does not name", "would be recovered", "the ledger says continue"] {
        assert!(evidence.contains(part), "{part}: {evidence}");
    }
}

fn verdicts(certificate: &Value) -> Vec<(&str, &str)> {
    let checks = certificate["checks"].as_array().expect("checks").iter();
    checks
        .map(|check| (check["name"].as_str().expect("a name"), check["verdict"].as_str().expect("a verdict")))
        .collect()
}

#[rstest]
#[case::no_fixtures(None, "has no postgres/fixtures.sql")]
#[case::a_block_that_is_missing(
    Some(("issue: stops", "issue: also, stops")),
    "expected the blocks `-- fixture issue: stops`"
)]
#[case::a_block_that_nobody_knows(Some(("issue: stops", "issue: stop")), "there is no such block")]
fn fixtures_that_are_wrong_are_refused(#[case] change: Option<(&str, &str)>, #[case] expected: &str) {
    let folder = Folder::new();
    match change {
        Some((from, to)) => folder.replace("postgres/fixtures.sql", from, to),
        None => std::fs::remove_file(folder.path().join("postgres/fixtures.sql")).expect("a file"),
    }
    verify(&tables().url, &["--host-dir", &folder.path().display().to_string()]).refused(CONFIG, &[expected]);
}

#[rstest]
#[case::sql_that_fails(
    "continuation",
    "insert into workers",
    "insert into people",
    "`-- fixture agent`: relation \\\"people\\\" does not exist"
)]
#[case::a_crowd_that_is_none(
    "cost", "generate_series(1, {{ count }})", "generate_series(1, 1)", "made 2 rows, expected at least 2000"
)]
#[case::a_value_that_there_is_not("continuation", "{{ issue }}, 'Mend", "{{ task }}, 'Mend", "undefined value")]
fn a_fixture_that_fails_is_named(#[case] check: &str, #[case] from: &str, #[case] to: &str, #[case] expected: &str) {
    let folder = Folder::new();
    folder.replace("postgres/fixtures.sql", from, to);
    let ran = verify_one(&tables().url, &folder, check);
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    assert!(ran.out.contains(expected), "{ran}");
}

/// Every paused agent seems to be active.
fn wakes_the_paused() -> Folder {
    let folder = Folder::new();
    folder.replace("postgres/0001_work/up.sql", "case when enabled then 'active' else 'paused' end", "'active'");
    folder
}

#[test]
#[ignore = "played on PostgreSQL 18"]
fn a_whole_certificate_in_which_one_promise_is_broken_does_not_hold() {
    let ran = verify(&tables().url, &["--host-dir", &wakes_the_paused().path().display().to_string()]);
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    let certificate = ran.json();
    assert_eq!(certificate["holds"], false, "{certificate:#}");
    let (broken, kept): (Vec<_>, Vec<_>) =
        verdicts(&certificate).into_iter().partition(|(_, verdict)| *verdict == "broken");
    assert_eq!((broken.as_slice(), kept.len()), (&[("patience", "broken")][..], 12), "{certificate:#}");
}

#[test]
fn people_read_what_is_broken_below_the_table() {
    let (database, folder) = (tables(), wakes_the_paused());
    let path = folder.path().display().to_string();
    let ran =
        command_at(&hand_over(&database.url), ["host", "verify", "--host-dir", &path, "--check", "patience"]).run();
    assert_eq!((ran.code, ran.err.as_str()), (SOME_FAILED, ""), "{ran}");
    for part in ["  patience      broken", "\npatience is broken:\n  - issue 10", "\nBroken: patience.\n"] {
        assert!(ran.out.contains(part), "{part}: {ran}");
    }
}
