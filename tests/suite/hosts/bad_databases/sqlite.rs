//! SQLite: what is no database, damaged, read-only, locked, or on a full disk.

use std::path::PathBuf;
use std::process::Command;

use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use sweep::rules::Id;
use sweep::store::Db;

use super::*;
use crate::support::databases::{connect, run};
use crate::support::program::{BINARY, Program, migrate_at, sweep_at};
use crate::support::rounds::rounds;
use crate::support::scratch::{new_file, url_of};
use crate::support::world::{On, World};

fn path_of(world: &World) -> PathBuf {
    world.url.strip_prefix("sqlite://").expect("a file").into()
}

fn world_with_orphans(count: usize) -> (World, Vec<Id>) {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.run("begin");
    let issues = (0..count).map(|_| world.orphan(&agent)).collect();
    world.run("commit");
    // All in the one file that is copied, nothing in its journal.
    world.run("pragma wal_checkpoint(truncate)");
    (world, issues)
}

#[test]
fn what_is_no_database_is_refused_by_its_path() {
    let (directory, file, url) = new_file();
    let folder = url_of(directory.path());
    let says = [&folder[9..], ": is a directory, expected a SQLite database"];
    sweep_at(&folder, []).run().refused(CONFIG, &says);
    migrate_at(&folder, []).run().refused(CONFIG, &says);

    let path = file.display().to_string();
    sweep_at(&url, []).run().refused(CONFIG, &[&path, "is not set up for sweep: run `sweep migrate`"]);

    std::fs::write(&file, "Dear diary,\n").expect("a file");
    for program in [sweep_at(&url, []), sweep_at(&url, ["--dry-run"]), migrate_at(&url, [])] {
        program.run().refused(CONFIG, &[&path, "is not a SQLite database"]);
    }
    assert_eq!(std::fs::read_to_string(&file).expect("a file"), "Dear diary,\n");

    std::fs::remove_file(&file).expect("a file");
    sweep_at(&url, []).run().refused(CONFIG, &[&path, "there is no such database"]);
    assert!(!file.exists());
}

#[test]
fn a_file_that_was_cut_off_is_called_corrupt() {
    let (world, _) = world_with_orphans(0);
    let whole = std::fs::read(path_of(&world)).expect("a file");
    for length in [50, 100, 4096, whole.len() / 2] {
        let (_directory, file, url) = new_file();
        std::fs::write(&file, &whole[..length]).expect("a file");
        for program in [sweep_at(&url, []), sweep_at(&url, ["--dry-run"]), migrate_at(&url, [])] {
            program.run().refused(CONFIG, &[&file.display().to_string(), "corrupt"]);
        }
    }
}

/// Each page in turn is overwritten: whatever it held, the sweep ends by itself, says so, and reports as done
/// what is there and nothing else.
#[test]
fn a_file_with_a_corrupt_page_never_crashes_a_sweep_or_makes_it_lie() {
    const PAGE: usize = 4096;
    let (world, _) = world_with_orphans(40);
    let whole = std::fs::read(path_of(&world)).expect("a file");
    let mut ended_well = 0;
    let (mut played, pages) = (0, whole.len() / PAGE);
    for page in rounds(0..pages) {
        played += 1;
        let mut bytes = whole.clone();
        // The first page's header is kept: without it, this is no database.
        let start = page * PAGE + if page == 0 { 100 } else { 0 };
        bytes[start..(page + 1) * PAGE].fill(0xff);
        let (_directory, file, url) = new_file();
        std::fs::write(&file, bytes).expect("a file");

        let ran = sweep_at(&url, ["--output", "json", "--only", "issues"]).run();

        let path = file.display().to_string();
        match ran.code {
            0 => ended_well += 1,
            1 => assert!(ran.err.contains("ERROR") && ran.err.contains("malformed"), "page {page}: {ran}"),
            UNAVAILABLE => ran.says_once(UNAVAILABLE, &["malformed"]),
            _ => ran.says_once(CONFIG, &[&path, "the file is corrupt"]),
        }
        if !ran.out.is_empty()
            && let Some(written) = attempts_in(&url)
        {
            let claimed = ran.json()["kinds"]["issues"]["continued"].as_i64();
            assert_eq!(claimed, Some(written), "page {page}: {ran}");
        }
    }
    assert!(ended_well < played * 2 / 3, "{ended_well}: hardly any page matters");
}

/// The number of attempts that a file's ledger has; none if it cannot be read.
fn attempts_in(url: &str) -> Option<i64> {
    let Db::Sqlite(mut db) = connect(url) else { unreachable!("a URL of SQLite") };
    sql::<BigInt>("select count(*) from recoveries not indexed").get_result(&mut db).ok()
}

#[test]
fn a_read_only_file_can_be_looked_at_and_nothing_more() {
    let (world, issues) = world_with_orphans(1);
    let file = path_of(&world);
    let mut permissions = std::fs::metadata(&file).expect("a file").permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&file, permissions).expect("rights");
    let before = std::fs::read(&file).expect("a file");

    let says = [&file.display().to_string(), "is read-only; only a dry run works on it"];
    sweep_at(&world.url, []).run().refused(CONFIG, &says);
    migrate_at(&world.url, []).run().refused(CONFIG, &says);
    let looked = sweep_at(&world.url, ["--dry-run", "--output", "json"]).run().done();

    assert_eq!(looked.json()["subjects"][0]["id"], issues[0].0);
    assert_eq!(std::fs::read(&file).expect("a file"), before);
}

#[test]
fn a_path_with_the_characters_of_a_url_is_a_path() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("50% of #1?.db");
    migrate_at(&url_of(&file), []).run().done();
    assert!(file.exists());
    sweep_at(&url_of(&file), []).run().done();
    sweep_at(&url_of(&file), ["--dry-run"]).run().done();
}

/// The disk is full when the file would outgrow its limit, in KiB; the signal for it is ignored, as a full disk sends
/// none.
fn sweep_with_room_for(url: &str, kib: u64) -> Program {
    let mut bash = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" \"$@\"");
    bash.args(["-c", &script, BINARY, "--database", url, "--output", "json"]);
    Program::from_command(bash)
}

#[test]
fn a_full_disk_is_reported_and_leaves_nothing_half_done() {
    let (mut world, issues) = world_with_orphans(60);
    let size = std::fs::metadata(path_of(&world)).expect("a file").len() / 1024;

    let ran = sweep_with_room_for(&world.url, size + 12).run();

    assert!([1, UNAVAILABLE].contains(&ran.code), "{ran}");
    assert!(ran.err.contains("full") || ran.err.contains("disk I/O error"), "{ran}");
    assert!(!ran.err.contains("panicked"), "{ran}");
    let continued = ran.json()["kinds"]["issues"]["continued"].as_i64().expect("a count");
    assert!((1..60).contains(&continued), "{ran}");
    assert_eq!(world.count("wakes"), continued);
    assert_eq!(world.count("recoveries"), continued);
    assert_eq!(world.text("integrity_check", "pragma_integrity_check"), Some("ok".to_owned()));

    sweep_at(&world.url, []).run().done();
    for issue in issues {
        assert_eq!(world.wakes_for(&issue), 1);
    }
}

#[test]
fn a_file_that_another_holds_for_long_is_busy() {
    let (mut world, issues) = world_with_orphans(1);
    world.run("begin immediate");

    let ran = sweep_at(&world.url, []).run();
    let looked = sweep_at(&world.url, ["--dry-run", "--output", "json"]).run().done();
    world.run("rollback");

    assert_eq!(looked.json()["kinds"]["issues"]["continued"], 1, "readers are not kept out");
    ran.refused(BUSY, &["test.db: database is locked", "another program", "try again"]);
    assert_eq!(world.wakes_for(&issues[0]), 0);
}

#[test]
fn a_reader_in_the_middle_of_its_transaction_does_not_hold_up_a_sweep() {
    let (mut world, issues) = world_with_orphans(3);
    let mut reader = world.connect();
    run(&mut reader, "begin; select count(*) from issues");

    sweep_at(&world.url, []).run().done();

    for issue in issues {
        assert_eq!(world.wakes_for(&issue), 1);
    }
    run(&mut reader, "commit");
}
