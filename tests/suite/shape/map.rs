//! tests/README.md is the map of the suite, and what a test can do to its world stands in one place.

use std::ffi::OsStr;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

const SUITE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/suite");

fn below(folder: &Path) -> Vec<PathBuf> {
    let paths = read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| if path.is_dir() { [vec![path.clone()], below(&path)].concat() } else { vec![path] })
        .collect()
}

#[test]
fn every_folder_of_the_suite_is_on_the_map() {
    let map = read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/README.md")).expect("the map");
    let rows: Vec<&str> = map.lines().filter(|line| line.starts_with("| `")).collect();
    let folders = read_dir(SUITE).expect("the suite").map(|entry| entry.expect("an entry").path());
    for folder in folders.filter(|path| path.is_dir()) {
        let name = format!("`{}/`", folder.file_name().expect("a name").display());
        assert!(rows.iter().any(|row| row.contains(&name)), "{name} is not on the map");
    }
}

/// Refuses results, logs and data of trials at the top of the tree, where some were once committed with a change.
#[test]
fn nothing_of_a_trial_lies_at_the_top_of_the_tree() {
    let files = read_dir(env!("CARGO_MANIFEST_DIR")).expect("the tree").map(|entry| entry.expect("an entry").path());
    let endings = ["json", "log", "sql"].map(OsStr::new);
    let left: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|end| endings.contains(&end))).collect();
    assert!(left.is_empty(), "these files belong nowhere: {left:?}");
}

#[test]
fn what_can_be_done_to_a_world_stands_in_one_place() {
    let place = Path::new(SUITE).join("support/world");
    let is_elsewhere = |path: &PathBuf| !path.starts_with(&place) && *path != place.with_extension("rs");
    for path in below(Path::new(SUITE)).into_iter().filter(|path| path.is_file()).filter(is_elsewhere) {
        let text = read_to_string(&path).expect("a text");
        assert!(!text.lines().any(|line| line.starts_with("impl World")), "{}", path.display());
    }
}
