//! `sweep host verify`: each host that is built in, and the example of a team's own, keeps every promise; one that does
//! not is found out, by the promise that it breaks.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use diesel::{Connection, RunQueryDsl, SqliteConnection};
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use sweep::store::Db;
use tempfile::TempDir;

use crate::support::databases::connect_server;
use crate::support::folder::{Folder, example};
use crate::support::program::{Ran, command_at};
use crate::support::scratch::{Role, Scratch, new_file};
use crate::support::wait::wait_for;

const SOME_FAILED: i32 = 1;
const CONFIG: i32 = 78;

/// Few rows: what they cost is measured by hand, and by `make check-hosts`.
fn verify(url: &str, host: &[&str]) -> Ran {
    let words = ["host", "verify"].into_iter().chain(host.iter().copied());
    command_at(url, words.chain(["--rows", "2000", "--output", "json"])).run()
}

fn tables() -> Scratch {
    let database = Scratch::empty();
    database.run(&std::fs::read_to_string(example("tables.sql")).expect("the tables"));
    database
}

#[track_caller]
fn keeps_all(ran: Ran) {
    let certificate = ran.done().json();
    let kept = |check: &&Value| check["verdict"] == "kept";
    let checks = certificate["checks"].as_array().expect("checks");
    assert_eq!((checks.len(), checks.iter().filter(kept).count()), (12, 12), "{certificate:#}");
}

#[test]
fn native_keeps_every_promise_on_postgres() {
    keeps_all(verify(&Scratch::empty().url, &["native"]));
}

#[test]
fn native_keeps_every_promise_on_sqlite() {
    let (_directory, _, url) = new_file();
    keeps_all(verify(&url, &["native"]));
}

#[test]
fn paperclip_keeps_every_promise() {
    let database = Scratch::paperclip();
    let before = database.catalog();
    keeps_all(verify(&database.url, &["paperclip"]));
    assert_eq!(database.catalog(), before, "it is copied, and stays as it is");
}

#[test]
fn a_teams_own_tables_keep_every_promise_on_postgres() {
    keeps_all(verify(&tables().url, &["--host-dir", &example("").display().to_string()]));
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

const UP: &str = "postgres/0001_work/up.sql";
const INSERT_A_JOB: &str =
    "insert into public.jobs (task_id, worker_id) values (new.issue_id, new.agent_id) returning id into job;";

#[rstest]
#[case::two_wakes(
    "continuation",
    "expected 1",
    INSERT_A_JOB,
    "insert into public.jobs (task_id, worker_id)
    values (new.issue_id, new.agent_id); insert into public.jobs (task_id, worker_id)
    values (new.issue_id, new.agent_id) returning id into job;"
)]
#[case::no_wake_and_a_row_returned(
    "continuation",
    "finds 0, expected 1",
    "insert into wake_jobs values (new.id, job, new.requested_by, new.reason);",
    "delete from public.jobs where id = job;"
)]
#[case::no_wake_and_none_returned(
    "continuation", "its trigger wrote nothing", "new.reason);\n    return new;", "new.reason);\n    return null;"
)]
#[case::a_wake_for_another_worker(
    "continuation",
    "was woken for it, which is another's",
    "values (new.issue_id, new.agent_id) returning",
    "select new.issue_id, min(id) from public.workers returning"
)]
#[case::an_assignee_that_is_changed(
    "escalation",
    "and is nobody's now",
    "set state = 'stuck', note",
    "set worker_id = null, state = 'stuck', note"
)]
#[case::a_sign_of_life_that_is_not_seen(
    "patience", "it was made a moment ago", "t.changed_at as updated_at", "timestamptz '2026-01-01' as updated_at"
)]
#[case::the_end_of_a_run_that_is_not_seen(
    "patience", "it stopped a moment ago", "j.ended_at as finished_at", "j.queued_at as finished_at"
)]
#[case::live_runs_that_are_not_seen(
    "patience",
    "`-- fixture issue: at work`",
    "when 'done' then 'succeeded' else j.state",
    "when 'failed' then 'failed' else 'succeeded'"
)]
#[case::a_paused_agent_that_is_woken(
    "patience",
    "`-- fixture agent: paused`",
    "case when enabled then 'active' else 'paused' end",
    "'active'"
)]
#[case::an_escalation_that_nobody_sees("escalation", "finds 0 of it", "set state = 'stuck', note", "set note")]
#[case::an_escalation_that_is_none(
    "escalation",
    "finds 0 of it",
    "where id = old.id and state = 'doing';\n    return case when found then new end",
    "where false;\n    return new"
)]
#[case::a_comment_on_every_task(
    "footprint", "is about no subject that was touched", "new.body) where id = new.issue_id", "new.body) where true"
)]
#[case::a_table_that_is_not_named(
    "footprint",
    "audit was written, and is not among",
    INSERT_A_JOB,
    "insert into public.audit values (new.issue_id);
    insert into public.jobs (task_id, worker_id) values (new.issue_id, new.agent_id) returning id into job;"
)]
#[case::a_row_that_is_deleted(
    "footprint",
    "a row of jobs was deleted",
    INSERT_A_JOB,
    "delete from public.jobs where state = 'failed';
    insert into public.jobs (task_id, worker_id) values (new.issue_id, new.agent_id) returning id into job;"
)]
#[case::something_outside_of_the_schema(
    "installation",
    "was not there before",
    "create view host_behavior",
    "create view public.ours as select 1 as one; create view host_behavior"
)]
#[case::something_that_stays(
    "removal",
    "cannot drop",
    "create view host_behavior",
    "create table more (id int); create view host_behavior"
)]
#[case::a_host_that_is_not_locked(
    "locks",
    "did not wait while a sweep had it in hand",
    "from public.tasks t;",
    "from public.tasks_now() t;"
)]
#[case::facts_that_are_slow_with_many_rows(
    "cost",
    "issue_facts took",
    "null::text as obstacle",
    "case when (select count(*) from public.tasks) > 1000 then pg_sleep(0.11)::text end as obstacle"
)]
fn a_host_that_breaks_a_promise_is_found_out_by_it(
    #[case] check: &str,
    #[case] why: &str,
    #[case] from: &str,
    #[case] to: &str,
) {
    let database = tables();
    database.run(
        "create table audit (task_id bigint);
         create function tasks_now() returns setof tasks language sql stable as 'select * from public.tasks'",
    );
    let folder = Folder::new();
    folder.replace(UP, from, to);
    let ran = verify(&database.url, &["--host-dir", &folder.path().display().to_string()]);
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    let certificate = ran.json();
    let broken = certificate["checks"].as_array().expect("checks").iter().find(|of| of["name"] == check);
    let broken = broken.unwrap_or_else(|| panic!("{certificate:#}"));
    assert_eq!((&broken["verdict"], &certificate["holds"]), (&"broken".into(), &false.into()), "{certificate:#}");
    assert!(broken["evidence"].to_string().contains(why), "{broken:#}");
}

/// A host with derived facts has its candidates made by sweep: here they are the host's own.
#[test]
fn candidates_that_name_too_few_are_found_out_with_what_they_overlook() {
    let folder = Folder::copy_of(Path::new("migrations/hosts/paperclip"));
    folder.replace("host.toml", "\"paperclip\"", "\"too_few\"");
    let facts = "postgres/2026-11-24-001203_issue_facts/up.sql";
    folder.replace(facts, "where r.kind = 'issue' and r.settled_at is null and", "where false and");
    let ran = verify(&Scratch::paperclip().url, &["--host-dir", &folder.path().display().to_string()]);
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    let certificate = ran.json();
    let broken: Vec<&Value> =
        certificate["checks"].as_array().expect("checks").iter().filter(|check| check["verdict"] == "broken").collect();
    assert!(broken.iter().any(|check| check["name"] == "candidates"), "{certificate:#}");
    let evidence = broken.iter().find(|check| check["name"] == "candidates").expect("it")["evidence"].to_string();
    for part in ["issue_candidates does not name", "would be recovered", "the ledger says continue"] {
        assert!(evidence.contains(part), "{part}: {evidence}");
    }
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
    "insert into workers",
    "insert into people",
    "`-- fixture agent`: relation \\\"people\\\" does not exist"
)]
#[case::a_value_that_there_is_not("{{ issue }}, 'Mend", "{{ task }}, 'Mend", "undefined value")]
fn a_fixture_that_fails_is_named(#[case] from: &str, #[case] to: &str, #[case] expected: &str) {
    let folder = Folder::new();
    folder.replace("postgres/fixtures.sql", from, to);
    let ran = verify(&tables().url, &["--host-dir", &folder.path().display().to_string()]);
    assert_eq!(ran.code, SOME_FAILED, "{ran}");
    assert!(ran.out.contains(expected), "{ran}");
}

#[test]
fn a_verification_that_is_ended_by_a_signal_leaves_no_copy_behind() {
    let (role, database) = (Role::new(), Scratch::empty());
    database.run(&format!("alter role {} createdb", role.name));
    let copies = format!("pg_database d join pg_roles r on r.oid = d.datdba where rolname = '{}'", role.name);
    let url = role.at(&database.url);
    let mut program = command_at(&url, ["host", "verify", "native"]);
    let child = program.start();
    wait_for("two copies", || (1 < count(&copies)).then_some(()));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a process");
    let ran = program.ended(child.wait_with_output().expect("an end"));
    assert_eq!(ran.code, 143, "{ran}");
    assert!(ran.err.contains("there is no certificate"), "{ran}");
    assert_eq!(count(&copies), 0);
}

fn count(from: &str) -> i64 {
    match &mut connect_server() {
        Db::Postgres(db) => sql::<BigInt>(&format!("SELECT count(*) FROM {from}")).get_result(db).expect("a number"),
        Db::Sqlite(_) => unreachable!("a server"),
    }
}

#[test]
fn a_database_that_others_use_is_not_copied() {
    let database = tables();
    let _other = database.connect();
    let ran = verify(&database.url, &["--host-dir", &example("").display().to_string()]);
    ran.refused(75, &["cannot be copied while others are connected to it"]);
}

#[test]
fn people_read_what_is_broken_below_the_table() {
    let database = tables();
    let folder = Folder::new();
    folder.replace(UP, "case when enabled then 'active' else 'paused' end", "'active'");
    let path = folder.path().display().to_string();
    let ran = command_at(&database.url, ["host", "verify", "--host-dir", &path, "--rows", "100"]).run();
    assert_eq!((ran.code, ran.err.as_str()), (SOME_FAILED, ""), "{ran}");
    for part in ["  patience      broken", "\npatience is broken:\n  - issue 10", "\nBroken: patience.\n"] {
        assert!(ran.out.contains(part), "{part}: {ran}");
    }
}
