//! Other programs open a file with a SQLite of their own: every one from 3.37 on, which has strict tables, reads,
//! writes and checks what sweep makes there.

use std::process::Command;
use std::sync::LazyLock;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use rstest::rstest;

use super::guest_files::{Owner, sweep_at};
use crate::support::world::{On, World};

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The folder of SQLite 3.37.0.
static OLDEST: LazyLock<String> = LazyLock::new(|| {
    let made = Command::new(format!("{ROOT}/tests/sqlite")).status().expect("a script");
    assert!(made.success(), "tests/sqlite: {made}");
    format!("{ROOT}/target/sqlite")
});

/// What Python says of a file: with the SQLite of this machine, or with one in a folder.
fn look(file: &str, library: Option<&str>) -> Result<(String, u32), String> {
    let mut python = Command::new("python3");
    python.arg(format!("{ROOT}/tests/suite/hosts/old_sqlite.py")).arg(file);
    python.envs(library.map(|folder| ("LD_LIBRARY_PATH", folder)));
    let looked = python.output().expect("python3");
    let said = String::from_utf8_lossy(&looked.stdout);
    match said.trim().split_once(' ') {
        Some((version, written)) if looked.status.success() => {
            Ok((version.to_owned(), written.parse().expect("a number")))
        }
        _ => Err(String::from_utf8_lossy(&looked.stderr).into_owned()),
    }
}

/// A file is read, written and checked by the oldest SQLite and by the machine's.
fn is_read_written_and_checked(file: &str, rows: u32) {
    let (version, written) = look(file, Some(&OLDEST)).expect("the oldest SQLite");
    assert_eq!(version, "3.37.0");
    assert!(written >= rows, "{written} rows");
    let (_, written_again) = look(file, None).expect("the machine's SQLite");
    assert_eq!(written_again, written);
}

#[test]
fn every_sqlite_from_3_37_on_reads_writes_and_checks_a_file_with_sweeps_own_tables() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    let issues: Vec<_> = (0..3).map(|_| world.orphan(&agent)).collect();
    world.stalled_step(Some(&agent));
    world.sweep();
    world.end_continuations("failed");
    world.pass(10);
    world.sweep();
    assert_eq!(world.status("issues", &issues[0]), "blocked");
    let file = world.url.trim_start_matches("sqlite://").to_owned();
    is_read_written_and_checked(&file, 30);
    world.pass(10);
    world.sweep();
}

#[test]
fn every_sqlite_from_3_37_on_reads_writes_and_checks_another_programs_file_in_which_sweep_is_a_guest() {
    let owner = Owner::with_sweep("wal");
    sweep_at(&owner.url, []).run().done();
    is_read_written_and_checked(&owner.path.display().to_string(), 4);
}

/// A negative control: each word that came after 3.37 is noticed.
#[rstest]
#[case("drop view false_rescues; create view false_rescues as select 1 is distinct from 2", "syntax error")]
#[case("create view newer as select '{}' ->> 'a'", "syntax error")]
#[case("create view newer as select unixepoch()", "no such function: unixepoch")]
#[case("create table newer (x text check (json_valid(x))) strict; insert into newer values (null)", "CHECK constraint")]
fn a_word_that_an_old_sqlite_does_not_know_is_noticed(#[case] newer: &str, #[case] error: &str) {
    let world = World::new(On::Sqlite);
    let file = world.url.trim_start_matches("sqlite://");
    SqliteConnection::establish(file).expect("a file").batch_execute(newer).expect("this SQLite knows it");
    let noticed = look(file, Some(&OLDEST)).expect_err("the oldest SQLite");
    assert!(noticed.contains(error), "{noticed}");
}
