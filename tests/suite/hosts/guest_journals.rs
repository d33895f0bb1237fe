//! SQLite files of other programs whose writer was killed, and the journals that it left.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use super::guest_files::{Owner, sweep_at};
use crate::support::scratch::url_of;

const CONFIG: i32 = 78;
const UNAVAILABLE: i32 = 69;

/// Runs these statements as another program, which is killed before it can close the file.
fn killed_after(owner: &Owner, statements: &str) {
    let mut killed = Command::new("sqlite3").arg(&owner.path).stdin(Stdio::piped()).spawn().expect("sqlite3");
    let statements = format!("{statements}\n.shell kill -9 $PPID\n");
    killed.stdin.take().expect("a pipe").write_all(statements.as_bytes()).expect("sqlite3 reads");
    assert!(!killed.wait().expect("an end").success());
}

const HALF: &str = "pragma cache_size = 1; begin immediate; update tasks set note = zeroblob(99999);";

/// A writer without a write-ahead log that is killed leaves a journal, by which the next writer takes back what was
/// half written. A program that only reads cannot.
#[test]
fn a_writer_that_was_killed_keeps_no_sweep_from_the_file() {
    let mut owner = Owner::with_sweep("delete");
    killed_after(&owner, HALF);

    sweep_at(&owner.url, ["--dry-run"]).run().refused(CONFIG, &["half written", "run `sweep`"]);
    assert!(sweep_at(&owner.url, []).run().done().out.contains("1 continued"));
    assert_eq!(owner.texts("select note from tasks where note <> ''"), Vec::<String>::new());
}

/// SQLite keeps the journal beside the file itself, whatever the file is called.
#[test]
fn its_journal_is_found_through_a_link_as_well() {
    let (mut owner, elsewhere) = (Owner::with_sweep("delete"), tempfile::tempdir().expect("a directory"));
    let link = elsewhere.path().join("link.db");
    symlink(&owner.path, &link).expect("a link");
    killed_after(&owner, HALF);

    let url = url_of(&link);
    sweep_at(&url, ["--dry-run"]).run().refused(CONFIG, &["half written", "run `sweep`"]);
    assert!(sweep_at(&url, []).run().done().out.contains("1 continued"));
    assert_eq!(owner.texts("select note from tasks where note <> ''"), Vec::<String>::new());
}

/// A program that takes back what is half written writes the log into the file as well, and deletes it.
#[test]
fn a_journal_beside_a_write_ahead_log_is_reported_and_both_are_left_alone() {
    let mut owner = Owner::with_sweep("wal");
    owner.run("pragma wal_checkpoint(truncate)");
    // SQLite deletes the log when the last one closes the file.
    owner.db = diesel::Connection::establish(":memory:").expect("another one");
    killed_after(&owner, "update tasks set note = 'in the log';");
    let beside = |ending: &str| owner.directory.path().join(format!("tasks.db{ending}"));
    std::fs::write(beside("-journal"), "somebody left this").expect("a file");
    let read = || ["", "-wal", "-journal"].map(|ending| std::fs::read(beside(ending)).expect("a file"));
    let before = read();
    assert!(!before[1].is_empty());

    for arguments in [&["--dry-run"][..], &[]] {
        let ran = sweep_at(&owner.url, arguments.iter().copied()).run();
        ran.refused(CONFIG, &["tasks.db-journal stands beside a write-ahead log"]);
    }

    assert!(before == read(), "something was changed");
    // The control: without the journal it is swept.
    std::fs::remove_file(beside("-journal")).expect("a file");
    assert!(sweep_at(&owner.url, []).run().done().out.contains("1 continued"));
    owner.db = diesel::Connection::establish(&owner.path.display().to_string()).expect("the file");
    assert_eq!(owner.texts("select distinct note from tasks"), ["in the log"]);
}

/// A journal of a transaction over several files ends with the name of their common journal, which SQLite opens and
/// then deletes.
#[test]
fn a_file_that_a_journal_names_is_neither_opened_nor_deleted() {
    let mut owner = Owner::with_sweep("delete");
    killed_after(&owner, HALF);
    let named = owner.directory.path().join("precious");
    std::fs::write(&named, "nobody but its owner deletes this").expect("a file");
    let name = named.to_str().expect("a plain path").as_bytes();
    let number = |number: u32| number.to_be_bytes();
    let sum = name.iter().map(|&byte| u32::from(byte)).sum();
    let lock_page = number((1 << 30) / 4096 + 1);
    let magic = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    let end = [&lock_page[..], name, &number(u32::try_from(name.len()).expect("a length")), &number(sum), &magic];
    let mut journal =
        std::fs::File::options().append(true).open(owner.path.with_extension("db-journal")).expect("a journal");
    journal.write_all(&end.concat()).expect("a journal");

    let first = sweep_at(&owner.url, []).run();
    assert!(named.exists(), "it was deleted: {first}");
    first.refused(UNAVAILABLE, &["tasks.db", "its journal", "names another file", "try again"]);
    assert!(sweep_at(&owner.url, []).run().done().out.contains("1 continued"));
    assert_eq!(owner.texts("select note from tasks where note <> ''"), Vec::<String>::new());
    assert!(named.exists(), "it was deleted");
}
