//! What the fixtures do not make is not certified in silence: the certificate prints it.

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use rstest::rstest;
use serde_json::Value;

use super::{file, tables, verdicts, verify, verify_one};
use crate::support::folder::{Folder, example};
use crate::support::program::command_at;
use crate::support::scratch::hand_over;

const FIXTURES: &str = "postgres/fixtures.sql";
const ONE_STATE_MORE: &str = "alter table tasks drop constraint tasks_state_check;
    alter table tasks add check (state in ('open', 'doing', 'review', 'stuck', 'done'))";

/// What was not tried, by a certificate that is about the fixtures alone.
#[track_caller]
fn untried(certificate: &Value) -> Vec<&str> {
    assert_eq!(verdicts(certificate), [("installation", "kept"), ("coverage", "not_tried")], "{certificate:#}");
    let lines = certificate["checks"][1]["evidence"].as_array().expect("lines");
    lines.iter().map(|line| line.as_str().expect("a line")).collect()
}

/// A review that is taken for work shows in no block: it is at least said that nobody tried it.
#[rstest]
#[case::a_constraint(ONE_STATE_MORE, &["no block makes tasks.state: review"])]
#[case::an_enumeration(
    "create type urgency as enum ('low', 'high', 'burning'); alter table tasks add urgency urgency default 'low'",
    &["no block makes tasks.urgency: burning, high"]
)]
#[case::a_domain(
    "create domain mood as text check (value in ('good', 'it''s bad')); alter table jobs add mood mood default 'good'",
    &["no block makes jobs.mood: it's bad"]
)]
#[case::numbers(
    "alter table jobs add step int default 1 check (step in (1, 2, -3))",
    &["no block makes jobs.step: -3, 2"]
)]
#[case::signs_of_life(
    "alter table jobs add heartbeat_at timestamptz",
    &["no block `-- fixture issue: dies`, though jobs.heartbeat_at is there, so nobody knows whether a worker that \
       died counts as one at work"]
)]
#[case::claims(
    "alter table jobs add claimed_by text",
    &["no block `-- fixture issue: claimed`, though jobs.claimed_by is there, so nobody knows whether a wake that was \
       taken and never began hides its work for ever"]
)]
fn what_no_block_makes_is_printed(#[case] change: &str, #[case] expected: &[&str]) {
    let (database, folder) = (tables(), Folder::new());
    database.run(change);
    folder.replace(
        "postgres/0001_work/up.sql",
        "when 'doing' then",
        "when 'review' then 'in_progress' when 'doing' then",
    );
    let ran = verify_one(&database.url, &folder, "coverage").done();
    assert_eq!(untried(&ran.json()), expected, "{ran}");
}

/// Constraints that list nothing, and columns that only sound like it.
#[test]
fn what_is_no_list_and_no_sign_of_life_is_not_asked_for() {
    let database = tables();
    database.run(
        "alter table tasks add check (note <> 'secret'), add check (note !~ '^x'),
             add check (title not in ('', 'none')), add released_at timestamptz, add disclaimer text;
         create table others (state text check (state in ('a')))",
    );
    super::keeps(&database, &Folder::new(), &["coverage"]);
}

#[test]
fn optional_blocks_that_are_absent_are_printed() {
    let folder = Folder::new();
    folder.replace(FIXTURES, "-- fixture issue: noted\n", "-- fixture issue: also, noted\n");
    folder.replace(FIXTURES, "-- fixture agent: paused\n", "-- fixture issue: also, paused\n");
    let ran = verify_one(&tables().url, &folder, "coverage").done();
    let expected = [
        "no block `-- fixture agent: paused`, so nobody knows whether an agent that is paused is woken",
        "no block `-- fixture issue: noted`, so nobody knows whether an escalation leaves what a person wrote",
    ];
    assert_eq!(untried(&ran.json()), expected, "{ran}");
}

#[test]
fn in_a_file_the_values_stand_in_the_text_of_a_table() {
    let (_directory, path, url) = file();
    let mut db = SqliteConnection::establish(&path.display().to_string()).expect("a file");
    let tables = std::fs::read_to_string(example("tables.sqlite.sql")).expect("the tables");
    let tables = tables.replace("check (state in ('open',", "CHECK( \"state\" IN ('review', 'open',");
    let tables = tables.replace("default 1\n", "default 1 check (enabled in (false, TRUE, 2))\n");
    db.batch_execute(&format!("drop table jobs; drop table tasks; drop table workers; {tables}")).expect("the tables");
    let ran = verify(&url, &["--host-dir", &example("").display().to_string(), "--check", "coverage"]).done();
    assert_eq!(
        untried(&ran.json()),
        ["no block makes tasks.state: review", "no block makes workers.enabled: 2"],
        "{ran}"
    );
}

#[test]
fn people_read_what_was_not_tried_below_the_table() {
    let (database, folder) = (tables(), Folder::new());
    database.run(ONE_STATE_MORE);
    let path = folder.path().display().to_string();
    let verify = ["host", "verify", "--host-dir", &path, "--check", "coverage"];
    let ran = command_at(&hand_over(&database.url), verify).run().done();
    for part in [
        "  coverage      not tried",
        "8 of 9 values",
        "\ncoverage is not tried:\n  - no block makes tasks.state: review\n",
        "\nThe promise that was tried is kept. Not tried: coverage.\n",
    ] {
        assert!(ran.out.contains(part), "{part}: {ran}");
    }
}
