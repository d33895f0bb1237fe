//! docs/promises.md and the suite, held together: each promise has a test and a negative control that exist, and what a
//! comment here calls a test of P4 stands on the page under P4.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

const PROMISES: std::ops::RangeInclusive<u32> = 1..=19;

/// A function of a file below `tests/suite/`: `("kinds/issues.rs", "a_second_sweep_finds_nothing_to_do")`.
type Test = (String, String);

/// The tests and the controls that the page names for one promise.
#[derive(Default)]
struct Promise {
    tests: BTreeSet<Test>,
    controls: BTreeSet<Test>,
}

/// A comment that names a promise: on a file, or on the function below it.
struct Claim {
    promise: u32,
    file: String,
    function: Option<String>,
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/promises.md");
    std::fs::read_to_string(path).expect("docs/promises.md")
}

/// The promises by number; headings with one number are read as one promise.
fn promises_of(page: &str) -> BTreeMap<u32, Promise> {
    let mut promises = BTreeMap::<u32, Promise>::new();
    let (mut number, mut file, mut is_control) = (0, String::new(), false);
    for line in page.lines() {
        if let Some(heading) = line.strip_prefix("## P") {
            number = heading.split(' ').next().and_then(|number| number.parse().ok()).expect("a promise's number");
            promises.entry(number).or_default();
        } else if let Some(rest) = line.strip_prefix("- ") {
            is_control = rest.starts_with("Control in ");
            assert!(is_control || rest.starts_with("Tests in "), "neither a test nor a control: {line}");
            file = rest.split('`').nth(1).expect("a file").to_owned();
        } else if let Some(rest) = line.strip_prefix("  - ") {
            let test = (file.clone(), rest.trim_matches('`').to_owned());
            let promise = promises.get_mut(&number).expect("a promise");
            if is_control { &mut promise.controls } else { &mut promise.tests }.insert(test);
        }
    }
    promises
}

/// The tests of this binary, as paths: `kinds::issues::postgres::a_second_sweep_finds_nothing_to_do`.
fn tests_there_are() -> Vec<String> {
    let listed = Command::new(std::env::current_exe().expect("this binary")).arg("--list").output().expect("a list");
    let listed = String::from_utf8(listed.stdout).expect("UTF-8");
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

fn exists((file, function): &Test, there_are: &[String]) -> bool {
    let module = file.trim_end_matches(".rs").replace('/', "::") + "::";
    let is_it = |path: &str| path.split("::").any(|part| part == function);
    there_are.iter().filter_map(|path| path.strip_prefix(&module)).any(is_it)
}

/// The numbers in a comment: `P1, P11` and `P4–P6`.
fn numbers(comment: &str) -> Vec<u32> {
    let words = comment.split(|c: char| !c.is_alphanumeric() && c != '–');
    let number = |word: &str| word.strip_prefix('P').and_then(|number| number.parse::<u32>().ok());
    let all = words.flat_map(|word| match word.split_once('–') {
        Some((first, last)) => {
            number(first).zip(number(last)).map_or(Vec::new(), |(first, last)| (first..=last).collect())
        }
        None => number(word).into_iter().collect(),
    });
    all.collect()
}

/// The promises that the comments of a file claim to test.
fn claims_of(file: &str, text: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    let mut above = Vec::new();
    for line in text.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("//!") {
            let claim = |promise| Claim { promise, file: file.to_owned(), function: None };
            claims.extend(numbers(comment).into_iter().map(claim));
        } else if let Some(comment) = line.strip_prefix("///") {
            above.extend(numbers(comment));
        } else if !line.starts_with("#[") {
            let function = line.split_once("fn ").and_then(|(_, rest)| rest.split('(').next()).map(str::to_owned);
            let claim = |promise| Claim { promise, file: file.to_owned(), function: function.clone() };
            claims.extend(above.drain(..).map(claim));
        }
    }
    claims
}

/// The claims of all files except this one, whose comments are about the page.
fn claims() -> Vec<Claim> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite");
    let (mut folders, mut claims) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let file = path.strip_prefix(&root).expect("a file of the suite").display().to_string();
            if path.is_dir() {
                folders.push(path);
            } else if file.ends_with(".rs") && file != "shape/promises.rs" {
                claims.extend(claims_of(&file, &std::fs::read_to_string(&path).expect("a file")));
            }
        }
    }
    claims
}

/// True if the page has what a comment claims. The page may name any file of a folder for a claim about the folder.
fn is_kept(claim: &Claim, promises: &BTreeMap<u32, Promise>) -> bool {
    let Some(promise) = promises.get(&claim.promise) else { return false };
    let folder = format!("{}/", claim.file.trim_end_matches(".rs"));
    let mut all = promise.tests.iter().chain(&promise.controls);
    all.any(|(file, function)| match &claim.function {
        Some(claimed) => *file == claim.file && function == claimed,
        None => *file == claim.file || file.starts_with(&folder),
    })
}

/// The mistakes of a page, one line each.
fn find_mistakes(page: &str, there_are: &[String], claims: &[Claim]) -> Vec<String> {
    let promises = promises_of(page);
    let mut wrong = Vec::new();
    for number in PROMISES {
        let headings = page.lines().filter(|line| line.starts_with(&format!("## P{number} "))).count();
        if headings != 1 {
            wrong.push(format!("P{number} has {headings} headings"));
        }
        let Some(Promise { tests, controls }) = promises.get(&number) else { continue };
        if tests.is_empty() || controls.is_empty() {
            wrong.push(format!("P{number} has {} tests and {} controls", tests.len(), controls.len()));
        }
        let missing = tests.iter().chain(controls).filter(|test| !exists(test, there_are));
        wrong.extend(missing.map(|(file, function)| format!("P{number}: {file} has no test {function}")));
        wrong.extend(tests.intersection(controls).map(|(_, function)| format!("P{number}: {function} is both")));
    }
    wrong.extend(claims.iter().filter(|claim| !is_kept(claim, &promises)).map(|Claim { promise, file, function }| {
        format!("{file} says that {} is about P{promise}, and the page does not", function.as_deref().unwrap_or("it"))
    }));
    wrong
}

#[test]
fn every_promise_has_tests_and_a_negative_control_that_exist() {
    assert_eq!(find_mistakes(&page(), &tests_there_are(), &claims()), Vec::<String>::new());
}

/// The negative control: a mistake of a page or a comment is found.
#[test]
fn a_promise_without_a_test_or_a_control_is_found() {
    let (page, there_are) = (page(), tests_there_are());
    let without = |from: &str, to: &str| {
        let (before, rest) = page.split_once(from).expect(from);
        let (_, after) = rest.split_once(to).expect(to);
        format!("{before}{to}{after}")
    };
    let misnamed = page.replacen("`a_second_sweep_finds_nothing_to_do`", "`a_second_sweep_finds_something`", 2);
    let moved = page.replacen("`promises/dry_run.rs`", "`promises/dry_runs.rs`", 1);
    for (page, expected) in [
        (without("## P9 ", "## P10 "), "P9 has 0 headings"),
        (page.replace("## P3 ", "## P2 "), "P2 has 2 headings"),
        (without("- Control in `promises/killed_sweeps.rs`", "## P4 "), "P3 has 5 tests and 0 controls"),
        (
            without("- Tests in `promises/secrets.rs`", "- Control in `promises/secrets.rs`"),
            "P15 has 0 tests and 1 controls",
        ),
        (misnamed, "P4: kinds/issues.rs has no test a_second_sweep_finds_something"),
        (moved, "P7: promises/dry_runs.rs has no test a_dry_run_is_never_assigned_a_transaction_id"),
        (without("- Tests in `notify/secrets.rs`", "- Tests in `shape"), "notify/secrets.rs says that it is about P15"),
    ] {
        let found = find_mistakes(&page, &there_are, &claims());
        assert!(found.iter().any(|line| line.starts_with(expected)), "{expected}: {found:#?}");
    }

    let text = "/// P7: nothing is written.\n#[test]\nfn a_test_that_the_page_does_not_name() {}";
    let found = find_mistakes(&page, &there_are, &claims_of("promises/dry_run.rs", text));
    assert_eq!(
        found,
        ["promises/dry_run.rs says that a_test_that_the_page_does_not_name is about P7, and the page does not"]
    );
}

#[test]
fn the_numbers_of_promises_are_read_in_every_form() {
    assert_eq!(numbers(" P1, P11 for sessions: P4–P6, P99 or P.S."), [1, 11, 4, 5, 6, 99]);
}
