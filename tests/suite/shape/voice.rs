//! The voice of comments: each is understood without the line above it, names its subject, and links to decisions that
//! exist.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::architecture::files;

/// The comments of each directory: an ending of its files, and what begins a comment in them.
const COMMENTED: [(&str, &str, &[&str]); 4] =
    [("src", "rs", RUST), ("tests", "rs", RUST), ("benches", "rs", RUST), ("migrations", "sql", &["--", "{#-"])];

const RUST: &[&str] = &["///", "//!", "//"];

/// Words with which a comment has no subject, or needs the line above it.
static OPENING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(The same|Of|By|Who|Whoever|Unless|So many|It was|Not)\b").expect("an expression"));
static DECISION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\bdecisions\.md#([a-z0-9-]+)").expect("an expression"));
static ANCHOR: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#"<a id="([a-z0-9-]+)">"#).expect("an expression"));

/// The mark and the words of the comment on a line. In SQL it may follow code.
fn comment<'a>(line: &'a str, marks: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let whole = line.trim_start();
    let own = marks.iter().find_map(|mark| Some((*mark, whole.strip_prefix(mark)?)));
    let behind_code = || marks.contains(&"--").then(|| line.split_once("  --").map(|(_, words)| ("", words))).flatten();
    own.or_else(behind_code).map(|(mark, words)| (mark, words.trim_start()))
}

/// The first lines of comments that open with words of `OPENING`: the number of each, and its text.
fn bad_openings<'a>(text: &'a str, marks: &[&'a str]) -> Vec<(usize, &'a str)> {
    let (mut found, mut above) = (Vec::new(), None);
    for (number, line) in (1..).zip(text.lines()) {
        let here = comment(line, marks);
        let opens = here.is_some_and(|(mark, _)| mark.is_empty() || above != Some(mark));
        if opens && here.is_some_and(|(_, words)| OPENING.is_match(words)) {
            found.push((number, line.trim()));
        }
        above = here.map(|(mark, _)| mark);
    }
    found
}

/// The path of a file, from the root of the project.
fn name(path: &Path) -> String {
    path.strip_prefix(env!("CARGO_MANIFEST_DIR")).expect("a path in the project").display().to_string()
}

#[test]
fn every_comment_opens_with_its_subject() {
    let mut found = Vec::new();
    for (directory, ending, marks) in COMMENTED {
        for (path, text) in files(directory, ending) {
            let openings = bad_openings(&text, marks);
            found.extend(openings.into_iter().map(|(number, line)| format!("{}:{number}: {line}", name(&path))));
        }
    }
    assert!(found.is_empty(), "these comments have no subject, or need the line above them:\n{}", found.join("\n"));
}

/// The negative control: each kind of comment is found by its first line, and nothing else is.
#[test]
fn a_comment_that_opens_without_a_subject_is_found() {
    let rust =
        "//! The same as before.\n\n/// Names a thing\n/// Of another.\nfn f() {\n    // Not so.\n    /// By it.\n}";
    let numbers = |text, marks| bad_openings(text, marks).into_iter().map(|(number, _)| number).collect::<Vec<_>>();
    assert_eq!(numbers(rust, RUST), [1, 6, 7]);
    assert_eq!(numbers("/// Office hours.\n/// Notes a time.\nlet by = 1; // Of no use", RUST), [0; 0]);
    let sql = "{#- Unless asked. -#}\n-- Rows.\n-- Of all.\n    a int,  -- Whoever reads\n    b int  -- who reads\n\
               -- It was.";
    assert_eq!(numbers(sql, &["--", "{#-"]), [1, 4, 6]);
}

#[test]
fn every_decision_that_a_comment_names_exists() {
    let decisions = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/decisions.md")).expect("a page");
    let anchors: BTreeSet<&str> = ANCHOR.captures_iter(&decisions).map(|anchor| anchor.extract::<1>().1[0]).collect();
    let places = [("src", "rs"), ("tests", "rs"), ("benches", "rs"), ("migrations", "sql"), ("migrations", "toml")];
    for (path, text) in places.into_iter().flat_map(|(directory, ending)| files(directory, ending)) {
        for named in DECISION.captures_iter(&text).map(|link| link.extract::<1>().1[0]) {
            assert!(anchors.contains(named), "{}: docs/decisions.md has no {named}", name(&path));
        }
    }
}
