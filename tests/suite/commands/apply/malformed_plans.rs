//! What is no plan is refused before a database is opened, in one line that says what is wrong.

use std::path::{Path, PathBuf};

use rstest::rstest;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::program::{Ran, sweep, sweep_at};
use crate::support::world::{On, World};

const USAGE: i32 = 64;

/// An orphan, and the printed plan for it.
fn planned() -> (World, String) {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let plan = sweep_at(&world.url, ["--dry-run", "--output", "json"]).run().done();
    (world, plan.out)
}

fn file(text: impl AsRef<[u8]>) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("plan.json");
    std::fs::write(&path, text).expect("a file");
    (directory, path)
}

fn apply(world: &World, path: &Path) -> Ran {
    sweep_at(&world.url, ["--apply", path.to_str().expect("a plain path")]).run()
}

/// The plan with one of its fields changed.
fn with(plan: &str, field: &str, value: Value) -> String {
    let mut plan: Value = serde_json::from_str(plan).expect("JSON");
    plan[field] = value;
    plan.to_string()
}

fn refused(world: &mut World, text: impl AsRef<[u8]>, says: &str) {
    let (_directory, path) = file(text);
    apply(world, &path).refused(USAGE, &["--apply ", "plan.json: ", says]);
    assert_eq!(world.count("sweeps") + world.count("wakes"), 0, "{says}");
}

#[test]
fn what_is_no_plan_is_refused_with_what_is_wrong() {
    const EXPECTED: &str = "expected the output of `sweep --dry-run --output json`";
    let (mut world, plan) = planned();
    refused(&mut world, "", EXPECTED);
    refused(&mut world, &plan[..plan.len() / 2], EXPECTED);
    refused(&mut world, &plan[..plan.len() - 3], EXPECTED);
    refused(&mut world, "Dry run of 1 issue (native) in 0.00 s", EXPECTED);
    refused(&mut world, "{}", EXPECTED);
    refused(&mut world, "[]", EXPECTED);
    refused(&mut world, "null", EXPECTED);
    refused(&mut world, format!("{plan}{plan}"), EXPECTED);
    refused(&mut world, b"\xff\xfe{\0}\0", "valid UTF-8");
    refused(&mut world, with(&plan, "schema", json!(2)), "it has the format 2, expected 1");
    refused(&mut world, json!({"schema": 7, "orders": []}).to_string(), "it has the format 7, expected 1");
    refused(&mut world, with(&plan, "subjects", json!([{"kind": "issue", "id": "x", "outcome": "mended"}])), "mended");
    let ndjson = sweep_at(&world.url, ["--dry-run", "--output", "ndjson"]).run().done();
    refused(&mut world, ndjson.out, EXPECTED);
}

#[test]
fn the_report_of_what_was_done_already_is_no_plan() {
    let (mut world, plan) = planned();
    let real = sweep_at(&world.url, ["--output", "json"]).run().done();
    let (_directory, path) = file(&real.out);
    apply(&world, &path).refused(USAGE, &["the report of what was done already, expected that of a dry run"]);
    let (_directory, path) = file(&plan);
    let applied = sweep_at(&world.url, ["--output", "json", "--apply", path.to_str().expect("a path")]).run().done();
    let (_directory, path) = file(&applied.out);
    apply(&world, &path).refused(USAGE, &["the report of what was done already"]);
    assert_eq!(world.count("wakes"), 1);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let (world, _) = planned();
    let directory = tempfile::tempdir().expect("a temporary directory");
    apply(&world, directory.path()).refused(USAGE, &["--apply ", "directory"]);
    apply(&world, &directory.path().join("none.json")).refused(USAGE, &["none.json: No such file or directory"]);
}

#[rstest]
#[case(&["--only", "issues"])]
#[case(&["--issue", "ACM-12"])]
#[case(&["--step", "Launch #1"])]
#[case(&["--tenant", "acme"])]
fn a_plan_is_the_only_selection(#[case] other: &[&str]) {
    let arguments = ["--apply", "plan.json"].into_iter().chain(other.iter().copied());
    sweep(arguments).run().refused(USAGE, &["--apply and ", other[0], "cannot be used together"]);
}

#[test]
fn a_plan_may_come_from_stdin() {
    let (mut world, plan) = planned();
    let (_directory, path) = file(&plan);
    let applied = sweep_at(&world.url, ["--apply", "-", "--detailed-exitcode"]).with_stdin(&path).run();
    assert_eq!(applied.code, 2, "{applied}");
    assert!(applied.out.starts_with("Applied a plan to 1 issue (native) in "), "{applied}");
    assert_eq!(world.count("wakes"), 1);
    let again = sweep_at(&world.url, ["--apply", "-", "--detailed-exitcode"]).with_stdin(&path).run().done();
    assert!(again.out.contains("Nothing was done; left: 1 changed"), "{again}");
    assert!(
        again.out.contains("planned: continue (nobody is working on it); now: leave (a wake is queued)"),
        "{again}"
    );
    assert!(again.err.contains("changed: planned: continue"), "{again}");
    sweep_at(&world.url, ["--apply", "-"]).run().refused(USAGE, &["--apply -: expected the output of"]);
}

#[test]
fn a_plan_of_nothing_says_so() {
    let world = World::new(On::Sqlite);
    let (_directory, path) = file(sweep_at(&world.url, ["--dry-run", "--output", "json"]).run().done().out);
    let applied = apply(&world, &path).done();
    assert!(applied.out.starts_with("Applied a plan to nothing (native) in "), "{applied}");
}

/// What it named, it named truly; what it did not see is not in it.
#[test]
fn the_plan_of_an_interrupted_dry_run_holds_what_it_saw() {
    let (mut world, plan) = planned();
    let (_directory, path) = file(with(&plan, "ended", json!("interrupted")));
    apply(&world, &path).done();
    assert_eq!(world.count("wakes"), 1);
}

/// A row that no dry run would have written counts as changed: a person may take rows away, and add none.
#[test]
fn an_edited_plan_gives_no_new_orders() {
    let (mut world, plan) = planned();
    let agent = world.agent("paused");
    let paused = world.orphan(&agent);
    let mut edited: Value = serde_json::from_str(&plan).expect("JSON");
    let mut row = edited["subjects"][0].clone();
    row["id"] = json!(paused);
    let twice = edited["subjects"][0].clone();
    edited["subjects"].as_array_mut().expect("rows").extend([row, twice]);
    let (_directory, path) = file(edited.to_string());
    apply(&world, &path).done();
    assert_eq!((world.count("wakes"), world.wakes_for(&paused)), (1, 0));
}
