//! A schema that nobody has seen before: its names, the types of its ids, times and states are invented anew for each
//! run. A folder for it, written as docs/hosts.md shows, gets a certificate, and nothing else of the project changes.

use std::collections::BTreeMap;

use fastrand::Rng;
use minijinja::{Environment, Value};

use crate::support::folder::Folder;
use crate::support::program::command_at;
use crate::support::rounds::rounds;
use crate::support::scratch::{Scratch, hand_over};

const TEMPLATES: [(&str, &str); 5] = [
    ("tables.sql", include_str!("invented/tables.sql")),
    ("host.toml", include_str!("invented/host.toml")),
    ("postgres/0001_work/up.sql", include_str!("invented/up.sql")),
    ("postgres/0001_work/down.sql", include_str!("invented/down.sql")),
    ("postgres/fixtures.sql", include_str!("invented/fixtures.sql")),
];

/// What everything is called there.
const NAMES: [&str; 15] = [
    "agents", "issues", "runs", "extra", "key", "run_key", "name", "active", "title", "owner", "changed", "state",
    "note", "issue", "began",
];
const STATES: [&str; 9] = ["open", "doing", "stuck", "done", "queued", "running", "failed", "ok", "ended"];

const LETTERS: [char; 12] = ['a', 'b', 'c', 'X', 'Y', '0', '9', '_', ' ', '-', '.', 'é'];

/// A name in quotes, of letters, digits and what SQL takes for something else.
fn name(rng: &mut Rng) -> String {
    let first = rng.alphabetic();
    let rest: String = (0..rng.usize(3..12)).map(|_| rng.choice(LETTERS).expect("one")).collect();
    format!("\"{first}{rest}{}\"", rng.u32(..))
}

/// The files of a folder, and the tables, by their paths.
fn invented(rng: &mut Rng) -> BTreeMap<&'static str, String> {
    let mut values: BTreeMap<&str, String> = NAMES.iter().map(|what| (*what, name(rng))).collect();
    values.insert("ended", name(rng));
    let id = ["uuid", "text", "integer", "bigint"][rng.usize(..4)];
    let (word, as_state): (&str, fn(usize, &str) -> String) = match rng.bool() {
        true => ("text", |_, state| format!("'{state}'")),
        false => ("smallint", |n, _| (10 * n).to_string()),
    };
    let states = STATES.iter().enumerate().filter(|(_, state)| **state != "ended");
    values.extend(states.map(|(n, state)| (*state, as_state(n, state))));
    let (flag, yes, no) = if rng.bool() { ("boolean", "true", "false") } else { ("text", "'on'", "'off'") };
    let time = ["timestamptz", "timestamp", "double precision"][rng.usize(..3)];
    let plain =
        [("id", id), ("word", word), ("flag", flag), ("yes", yes), ("no", no), ("time", time), ("at", "{{ at }}")];
    values.extend(plain.map(|(what, text)| (what, text.to_owned())));
    eprintln!("{id}, {word}, {flag}, {time}");
    let mut templates = Environment::new();
    templates.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
    templates.add_filter("plain", |name: String| name.trim_matches('"').to_owned());
    templates.add_filter("read", move |column: String| match time {
        "timestamptz" => column,
        "timestamp" => format!("{column} at time zone 'UTC'"),
        _ => format!("to_timestamp({column})"),
    });
    templates.add_filter("write", move |moment: String| match time {
        "timestamptz" => moment,
        "timestamp" => format!("({moment} at time zone 'UTC')"),
        _ => format!("extract(epoch from {moment})"),
    });
    // A run's id is of the type of the others.
    templates.add_filter("run_id", move |column: String| match id {
        "uuid" => format!("lpad(to_hex({column}), 32, '0')::uuid"),
        id => format!("{column}::{id}"),
    });
    templates.add_filter("row_id", move |n: String| match id {
        "uuid" => "gen_random_uuid()".to_owned(),
        "text" => format!("'crowd ' || {n}"),
        _ => n,
    });
    let context: Value = Value::from_pairs(values);
    let file = |(path, template): (&'static str, &str)| {
        let text = templates.render_str(template, context.clone()).unwrap_or_else(|error| panic!("{path}: {error:#}"));
        (path, text + "\n")
    };
    TEMPLATES.into_iter().map(file).collect()
}

#[test]
fn a_folder_for_a_schema_that_nobody_has_seen_gets_a_certificate() {
    for _ in rounds(0..5) {
        let seed = fastrand::u64(..);
        eprintln!("seed {seed}");
        let mut files = invented(&mut Rng::with_seed(seed));
        let database = Scratch::empty();
        database.run(&files.remove("tables.sql").expect("the tables"));
        let folder = Folder::empty();
        files.iter().for_each(|(path, text)| folder.write(path, text));
        let path = folder.path().display().to_string();
        let verify = ["host", "verify", "--host-dir", &path, "--rows", "1000"];
        let ran = command_at(&hand_over(&database.url), verify).run();
        assert!(ran.code == 0 && ran.out.contains("All 12 promises that were tried are kept."), "{ran}\n{files:#?}");
    }
}
