//! `sweep host verify --check NAME`: an author tries again what is being mended, and nobody takes that for a
//! certificate.

use serde_json::Value;

use super::{SOME_FAILED, tables, verdicts, verify, verify_one, wakes_the_paused};
use crate::support::folder::example;
use crate::support::program::{Ran, command_at};
use crate::support::scratch::hand_over;

const USAGE: i32 = 64;

fn example_folder() -> String {
    example("").display().to_string()
}

/// Every name of a check but these.
fn all_but(played: &[&str]) -> Vec<&'static str> {
    let all = [
        "installation", "continuation", "recovery", "escalation", "patience", "candidates", "rivals", "locks", "kills",
        "footprint", "cost", "coverage", "removal",
    ];
    all.into_iter().filter(|name| !played.contains(name)).collect()
}

#[test]
fn the_checks_that_are_named_are_played_after_the_installation_and_are_no_certificate() {
    let checks = ["--check", "removal", "--check", "continuation"];
    let ran = verify(&tables().url, &[&["--host-dir", &example_folder()], checks.as_slice()].concat()).done();
    let found = ran.json();
    let played = [("installation", "kept"), ("continuation", "kept"), ("removal", "kept")];
    assert_eq!(verdicts(&found), played, "{found:#}");
    assert_eq!(found["holds"], Value::Null, "nobody knows: {found:#}");
    assert_eq!(found["left_out"], Value::from(all_but(&played.map(|(name, _)| name))), "{found:#}");
}

#[test]
fn people_are_told_what_was_left_out_and_that_it_is_no_certificate() {
    let ran = in_words(&["--check", "installation"]).done();
    let ending = format!(
        "\nThe promise that was tried is kept.\nThis is no certificate. Left out: {}.\n",
        all_but(&["installation"]).join(", ")
    );
    assert!(ran.out.ends_with(&ending), "{ran}");
}

fn in_words(flags: &[&str]) -> Ran {
    let (database, folder) = (tables(), example_folder());
    command_at(&hand_over(&database.url), [&["host", "verify", "--host-dir", &folder], flags].concat()).run()
}

/// What is broken is broken, whatever the other checks would say.
#[test]
fn a_broken_promise_among_some_checks_does_not_hold() {
    let ran = verify_one(&tables().url, &wakes_the_paused(), "patience");
    assert_eq!((ran.code, &ran.json()["holds"]), (SOME_FAILED, &false.into()), "{ran}");
}

#[test]
fn a_check_that_there_is_not_is_refused_with_the_names_of_all() {
    let (last, first) = (all_but(&[]).pop().expect("a name"), all_but(&["removal"]).join(", "));
    let expected = format!("expected {first} or {last}");
    in_words(&["--check", "patients"]).refused(USAGE, &["--check", "patients", &expected]);
}
