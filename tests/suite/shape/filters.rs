//! The gate and the long round choose tests by parts of their paths. A part that no test has any more would choose
//! none, and pass.

use std::fs;
use std::path::Path;
use std::process::Command;

/// A file, and the words before its parts of paths, which go on to the end of the line.
const CHOICES: [(&str, &str); 8] = [
    ("Makefile", "CONTRACT := "),
    ("Makefile", "--include-ignored $(CONTRACT) "),
    (".ci/run", "--skip=%s' "),
    (".ci/night", " suite --include-ignored "),
    (".ci/night", "--include-ignored --skip="),
    (".ci/night", "\"$version\" suite "),
    ("tests/roles", "--exact "),
    ("tests/roles", "TEST_ROLE=sweeper \"${suite[@]}\" "),
];

#[test]
fn each_part_of_a_path_by_which_tests_are_chosen_is_that_of_a_test() {
    let listed = Command::new(std::env::current_exe().expect("this program")).arg("--list").output().expect("a list");
    let listed = String::from_utf8(listed.stdout).expect("UTF-8");
    let tests: Vec<&str> = listed.lines().filter_map(|line| line.strip_suffix(": test")).collect();
    for (file, before) in CHOICES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = fs::read_to_string(path).expect("a script").replace("\\\n", " ");
        let chosen: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once(before))
            .flat_map(|(_, parts)| parts.trim_end_matches([')', '"']).split_whitespace())
            .filter(|part| part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "_:".contains(c)))
            .collect();
        assert!(!chosen.is_empty(), "{file} has no {before:?} any more");
        for part in chosen {
            assert!(
                tests.iter().any(|test| test.contains(part)),
                "{file} chooses {part}, which no test has in its path"
            );
        }
    }
}
