//! The files of a pattern: what has an odd name or cannot be read is reported, and never left out without a word.

use std::ffi::OsStr;
use std::fs::create_dir;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::several_databases::{at, board, ends, swept};
use crate::support::databases::files;
use crate::support::program::sweep;
use crate::support::scratch::url_of;

const CONFIG: i32 = 78;

/// What a sweep of this pattern says of each database: the end of its name, and its reason.
fn reasons(pattern: &Path) -> Vec<(String, String)> {
    let ran = at([url_of(pattern).as_str()], &["--output", "json"]).run();
    assert_eq!(ran.code, CONFIG, "{ran}");
    let databases = ran.json()["databases"].as_array().cloned().expect("databases");
    let reason = |place: usize| databases[place]["error"].as_str().unwrap_or_default().to_owned();
    ends(&ran).into_iter().enumerate().map(|(place, (name, _))| (name, reason(place))).collect()
}

#[test]
fn a_name_that_is_no_text_is_reported_and_the_others_are_swept() {
    let directory = files().expect("a directory");
    let mut worlds = ["a.db", "z.db"].map(|name| board(directory.path(), name));
    for name in [&b"caf\xe9.db"[..], b"caf\xe9", b"caf\xea.db"] {
        std::fs::copy(directory.path().join("a.db"), directory.path().join(OsStr::from_bytes(name))).expect("a file");
    }
    let found = reasons(&directory.path().join("*.db"));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["a.db", "caf\u{fffd}.db", "caf\u{fffd}.db (2)", "z.db"]);
    for (name, reason) in &found {
        assert_eq!(reason.contains("the path is no UTF-8"), name.contains("caf"), "{name}: {reason}");
    }
    assert_eq!(swept(&mut worlds), [(1, 1); 2]);
}

#[test]
fn no_hidden_file_matches_nor_what_is_in_a_hidden_directory() {
    let directory = files().expect("a directory");
    for name in ["a", ".b", "c"] {
        create_dir(directory.path().join(name)).expect("a directory");
    }
    let mut worlds = ["a/x.db", ".b/x.db", "c/x.db", "c/.y.db"].map(|name| board(directory.path(), name));
    let pattern = url_of(&directory.path().join("*/*.db"));
    at([pattern.as_str()], &[]).run().done();
    assert_eq!(swept(&mut worlds), [(1, 1), (0, 0), (1, 1), (0, 0)]);
    // The control: a hidden directory that is named.
    let pattern = url_of(&directory.path().join(".b/*.db"));
    at([pattern.as_str()], &[]).run().done();
    assert_eq!(swept(&mut worlds)[1], (1, 1));
}

/// A link to itself cannot be read by anybody, nor can what would be behind it.
#[test]
fn what_cannot_be_read_is_reported_and_the_others_are_swept() {
    let directory = files().expect("a directory");
    for name in ["a", "b"] {
        create_dir(directory.path().join(name)).expect("a directory");
    }
    let mut worlds = ["a/x.db", "b/x.db"].map(|name| board(directory.path(), name));
    std::fs::write(directory.path().join("note"), "no directory").expect("a file");
    symlink("loop", directory.path().join("loop")).expect("a link");
    symlink("elsewhere", directory.path().join("b/y.db")).expect("a link");
    let endless = "Too many levels of symbolic links";

    let found = reasons(&directory.path().join("*/*.db"));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x.db", "x.db", "y.db", "loop"]);
    assert!(found[2].1.contains("there is no such database") && found[3].1.contains(endless), "{found:?}");
    assert_eq!(swept(&mut worlds), [(1, 1); 2]);

    let found = reasons(&directory.path().join("*/x.db"));
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["x.db", "x.db", "x.db"]);
    assert!(found[2].1.contains(&format!("loop/x.db: {endless}")), "{found:?}");
    assert_eq!(swept(&mut worlds), [(2, 1); 2]);
    let status = sweep(["status"]).env("DATABASE_URL", url_of(&directory.path().join("*/x.db"))).run();
    assert!(status.code == CONFIG && status.out.contains("3 databases, 1 of them failed"), "{status}");
}
