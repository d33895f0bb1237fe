//! Several databases at once: each is swept by itself, and what goes wrong with one does not stop the others.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;
use sweep::rules::Id;
use tempfile::TempDir;

use crate::support::daemon::Daemon;
use crate::support::databases::{copy_of_template, files};
use crate::support::program::{Program, Ran, command_at, sweep};
use crate::support::receiver::Receiver;
use crate::support::scratch::{Scratch, url_of};
use crate::support::terminal::Asked;
use crate::support::world::{On, World};

const USAGE: i32 = 64;
const GUARDED: i32 = 4;
const CONFIG: i32 = 78;

/// A board in this directory, with one orphan.
pub fn board(directory: &Path, name: &str) -> World {
    let path = directory.join(name);
    copy_of_template(&path);
    let mut world = World::at(On::Sqlite, url_of(&path), None);
    orphan(&mut world);
    world
}

pub fn orphan(world: &mut World) -> Id {
    let agent = world.agent("idle");
    world.orphan(&agent)
}

/// Boards a, b and c, and the pattern that matches them.
fn boards() -> (TempDir, Vec<World>, String) {
    let directory = files().expect("a directory");
    // The databases are in another order than their names.
    let worlds = ["b.db", "c.db", "a.db"].map(|name| board(directory.path(), name)).into();
    let pattern = url_of(&directory.path().join("*.db"));
    (directory, worlds, pattern)
}

pub fn at<'a>(urls: impl IntoIterator<Item = &'a str>, further: &[&'a str]) -> Program {
    let databases = urls.into_iter().flat_map(|url| ["--database", url]);
    sweep(databases.chain(further.iter().copied()))
}

pub fn swept(worlds: &mut [World]) -> Vec<(i64, i64)> {
    worlds.iter_mut().map(|world| (world.count("sweeps"), world.count("wakes"))).collect()
}

/// The names of the databases in a report, and how each ended.
pub fn ends(ran: &Ran) -> Vec<(String, i64)> {
    let databases = ran.json()["databases"].as_array().cloned().expect("databases");
    let end = |of: &Value| {
        let name = of["database_name"].as_str().expect("a name").rsplit('/').next().expect("a name");
        (name.to_owned(), of["exit_code"].as_i64().expect("a number"))
    };
    databases.iter().map(end).collect()
}

#[test]
fn two_servers_databases_and_three_files_are_swept_and_reported_together() {
    let (directory, mut worlds, pattern) = boards();
    let mut postgres = [World::new(On::Postgres), World::new(On::Paperclip)];
    postgres.iter_mut().for_each(|world| drop(orphan(world)));
    let urls = [postgres[0].url.clone(), pattern, postgres[1].url.clone()];
    let all = |further: &[&str]| at(urls.iter().map(String::as_str), further).run().done();

    let dry_run = all(&["--dry-run", "--output", "json"]);
    assert_eq!(swept(&mut worlds), [(0, 0); 3]);
    let table = all(&[]);
    let lines = all(&["--output", "ndjson"]);

    let names = [postgres[0].name(), "a.db", "b.db", "c.db", postgres[1].name()];
    assert_eq!(ends(&dry_run), names.map(|name| (name.to_owned(), 0)));
    let reports = dry_run.json()["databases"].as_array().cloned().expect("databases");
    assert!(reports.iter().all(|of| of["subjects"][0]["outcome"] == "continued" && of["error"].is_null()));
    let headings: Vec<&str> = table.out.lines().filter(|line| names.iter().any(|name| line.ends_with(name))).collect();
    assert_eq!(headings.len(), 5, "{table}");
    assert_eq!(headings[1], directory.path().join("a.db").display().to_string());
    assert!(table.out.ends_with("\n5 databases. 5 continued\n"), "{table}");
    assert_eq!(lines.out.lines().count(), 5 * 4, "{lines}");
    assert!(lines.out.lines().all(|line| line.contains(r#","database_name":"#)), "{lines}");
    // Each had the second sweep for itself, which had nothing to do.
    assert_eq!(swept(&mut worlds), [(2, 1); 3]);
    assert_eq!(swept(&mut postgres[..1]), [(2, 1)]);
}

#[test]
fn one_that_fails_is_named_with_its_reason_and_the_others_are_swept() {
    let (directory, mut worlds, pattern) = boards();
    std::fs::write(directory.path().join("aa.db"), "no database").expect("a file");
    let (scratch, mut last) = (Scratch::empty(), World::new(On::Postgres));
    orphan(&mut last);
    let away = "postgres://ada:hunter2@127.0.0.1:1/agents";
    let urls = [away, &scratch.url, &pattern, &last.url];

    let ran = at(urls, &["--output", "json"]).run();
    let table = at(urls, &[]).run();

    let ended = ends(&ran);
    let codes: Vec<i64> = ended.iter().map(|(_, code)| *code).collect();
    assert_eq!((codes.as_slice(), ran.code), ([69, 78, 0, 78, 0, 0, 0].as_slice(), CONFIG), "{ran}");
    let error = |place: usize| ran.json()["databases"][place]["error"].as_str().map(str::to_owned).expect("a reason");
    assert!(error(0).contains("cannot reach PostgreSQL") && error(1).contains("run `sweep migrate`"), "{ran}");
    assert!(error(3).contains("not a database"), "{ran}");
    for (place, name) in [(0, "127.0.0.1:1/agents"), (3, "aa.db")] {
        assert!(table.out.contains(&error(place)) && table.out.contains(&format!("{name}\n")), "{table}");
        assert!(table.err.lines().any(|line| line.contains("ERROR") && line.contains(name)), "{table}");
    }
    assert!(table.out.contains("\n7 databases, 3 of them failed. Nothing was done"), "{table}");
    assert!(!format!("{ran}{table}").contains("hunter2"), "{ran}");
    assert_eq!((swept(&mut worlds), swept(&mut [last])), (vec![(2, 1); 3], vec![(2, 1)]));
    // The control: by itself it is refused for the same reason, and nothing else is swept.
    let alone = sweep(["--database", &url_of(&directory.path().join("aa.db"))]).run();
    assert_eq!((alone.code, alone.err.contains(&error(3))), (CONFIG, true), "{alone}");
}

#[test]
fn the_guard_stops_one_and_none_of_the_others() {
    let (_directory, mut worlds, pattern) = boards();
    (0..21).for_each(|_| drop(orphan(&mut worlds[0])));
    let ran = at([pattern.as_str()], &["--set", "guard_share=0.5", "--output", "json"]).run();
    let expected = [("a.db", 0), ("b.db", 4), ("c.db", 0)].map(|(name, code)| (name.to_owned(), code));
    assert_eq!((ends(&ran).as_slice(), ran.code), (expected.as_slice(), GUARDED), "{ran}");
    assert_eq!(swept(&mut worlds), [(1, 0), (1, 1), (1, 1)]);
}

#[test]
fn the_same_database_is_swept_once_whatever_it_is_called() {
    let (directory, mut worlds, pattern) = boards();
    let link = directory.path().join("d.db");
    std::os::unix::fs::symlink(directory.path().join("a.db"), &link).expect("a link");
    let mut postgres = World::new(On::Postgres);
    let again = format!("{}&application_name=again", postgres.url);
    let [a, d] = ["a.db", "d.db"].map(|name| url_of(&directory.path().join(name)));
    let ran = at([d.as_str(), &postgres.url, &pattern, &a, &again], &["--output", "json"]).run().done();
    let names: Vec<String> = ends(&ran).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["d.db", postgres.name(), "b.db", "c.db"]);
    assert_eq!((swept(&mut worlds), postgres.count("sweeps")), (vec![(1, 1); 3], 1));
}

#[test]
fn a_pattern_that_matches_nothing_is_an_error_that_names_it() {
    let directory = files().expect("a directory");
    let pattern = directory.path().join("*.db").display().to_string();
    for program in [sweep(["--output", "json"]), sweep(["status", "--output", "json"])] {
        let ran = program.env("DATABASE_URL", format!("sqlite://{pattern}")).run();
        assert_eq!((ran.code, ends(&ran).len()), (CONFIG, 1), "{ran}");
        assert_eq!(ran.json()["databases"][0]["error"], format!("{pattern}: no file matches this pattern"));
    }
    for command in ["migrate", "explain issue T-1", "exempt list"] {
        let ran = command_at(&format!("sqlite://{pattern}"), command.split(' ')).run();
        ran.says_once(CONFIG, &[&pattern, "no file matches this pattern"]);
    }
    assert_eq!(directory.path().read_dir().expect("a directory").count(), 0, "something was made");
}

#[test]
fn what_is_about_one_database_refuses_several_before_anything_is_done() {
    let (directory, mut worlds, pattern) = boards();
    let plan = directory.path().join("plan.json").display().to_string();
    let says = ["3 databases are named, and this command takes one", "a.db", "b.db", "c.db"];
    for command in [
        "explain issue T-1", "exempt list", "migrate", "migrate --uninstall --yes", "quarantine release --all",
        "status --plan P-1", "watch -- true",
    ] {
        sweep(command.split(' ')).env("DATABASE_URL", &pattern).run().refused(USAGE, &says);
    }
    let named = ["--issue T-1", "--session S-1", "--step P-1", &format!("--apply {plan}")];
    for options in named {
        let ran = sweep(options.split(' ')).env("DATABASE_URL", &pattern).run();
        ran.refused(USAGE, &["are about one database: name it by --database, without a pattern"]);
    }
    let (code, text) = Asked::with(&pattern, &[]).ends();
    assert!(code == 64 && text.contains("add --yes, or --dry-run"), "{text}");
    assert_eq!(swept(&mut worlds), [(0, 0); 3]);
    let of_all = at([pattern.as_str()], &["--dry-run", "--output", "json"]).run().done().out;
    std::fs::write(&plan, of_all).expect("a file");
    let one = url_of(&directory.path().join("a.db"));
    at([one.as_str()], &["--apply", &plan]).run().refused(USAGE, &["it is of several databases"]);
    // The control: a pattern that matches one file names one database.
    let one = url_of(&directory.path().join("a*.db"));
    sweep(["exempt", "list"]).env("DATABASE_URL", one).run().done();
}

#[test]
fn the_dead_mans_switch_is_pinged_once_for_all_and_fails_with_one() {
    let (directory, _worlds, pattern) = boards();
    let paths = || {
        let receiver = Receiver::new();
        let program = at([pattern.as_str()], &[]).env("SWEEP_PING_URL", receiver.url());
        program.env("SWEEP_NOTIFY_PRIVATE", "on").run();
        let requests = receiver.requests();
        requests.iter().map(|request| request.path.rsplit('/').next().unwrap_or_default().to_owned()).collect()
    };
    let well: Vec<String> = paths();
    assert_eq!((well.len(), well[0].as_str(), well[1] == "fail"), (2, "start", false), "{well:?}");
    std::fs::write(directory.path().join("aa.db"), "no database").expect("a file");
    let ill: Vec<String> = paths();
    assert_eq!((ill.len(), ill[1].as_str()), (2, "fail"), "{ill:?}");
}

#[test]
fn metrics_say_of_which_database_they_are() {
    let (directory, _worlds, pattern) = boards();
    std::fs::write(directory.path().join("aa.db"), "no database").expect("a file");
    let file = directory.path().join("sweep.prom");
    let arguments = ["--set", &format!("metrics_file={}", file.to_str().expect("a path"))];
    let ran = at([pattern.as_str()], &arguments).run();
    assert!(ran.err.contains("the metrics could not be written"), "{ran}");
    let reported = super::metrics::samples(&std::fs::read_to_string(&file).expect("metrics"));
    for name in ["a.db", "b.db", "c.db"] {
        let total = format!(r#"recoveries_total{{database="{name}",kind="issue",action="continue"}}"#);
        assert_eq!(reported.get(&total), Some(&1.0), "{reported:?}");
    }
    assert!(!reported.keys().any(|name| name.contains("aa.db")), "{reported:?}");
}

#[test]
fn the_status_shows_each_under_its_name_and_what_all_need() {
    let (directory, _worlds, pattern) = boards();
    std::fs::write(directory.path().join("aa.db"), "no database").expect("a file");
    let status =
        |further: &[&str]| sweep(["status"].iter().chain(further).copied()).env("DATABASE_URL", &pattern).run();
    let (table, json) = (status(&[]), status(&["--output", "json"]));
    assert_eq!((table.code, json.code), (CONFIG, CONFIG), "{table}");
    assert!(table.err.lines().any(|line| line.contains("ERROR") && line.contains("aa.db")), "{table}");
    let expected = [("a.db", 0), ("aa.db", 78), ("b.db", 0), ("c.db", 0)];
    assert_eq!(ends(&json), expected.map(|(name, code)| (name.to_owned(), code)));
    assert_eq!(json.json()["databases"][0]["orphans_total"], 1);
    assert_eq!(table.out.matches("Never swept").count(), 3, "{table}");
    assert!(table.out.ends_with("\n4 databases, 1 of them failed. 3 orphans\n"), "{table}");
}

#[test]
fn a_signal_ends_it_after_what_is_in_hand_and_what_was_not_begun_is_named() {
    let (mut worlds, directory) = ([(); 4].map(|()| World::new(On::Postgres)), files().expect("a directory"));
    for world in &mut worlds {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..2000);
    }
    let urls = worlds.each_ref().map(|world| world.url.clone());
    let last = board(directory.path(), "a.db");
    let all = urls.iter().chain([&last.url]).map(String::as_str);
    let mut sweep = Daemon::start(at(all, &["--set", "connections=1"]));
    urls.iter().zip(&worlds).for_each(|(_, world)| drop(sweep.says(&format!("{}}}: issue", world.name()))));
    sweep.signal(Signal::TERM);
    let (code, out) = sweep.ended();
    assert!(code == 143 && out.contains("a.db\nnot begun: a signal came before"), "{code}: {out}");
    assert_eq!(worlds.map(|mut world| world.count("sweeps where ended = 'interrupted'")), [1; 4]);
    assert_eq!(swept(&mut [last]), [(0, 0)]);
}

/// Two have much to do at the same time. The control: the lines of the log are mixed.
#[test]
fn what_is_said_of_one_is_not_mixed_with_another() {
    let mut worlds = [(); 3].map(|()| World::new(On::Postgres));
    for (place, world) in worlds.iter_mut().enumerate() {
        let agent = world.agent("idle");
        world.orphans(&agent, 0..300 * (3 - place as u32));
    }
    let names = worlds.each_ref().map(|world| world.name().to_owned());
    let urls = worlds.each_ref().map(|world| world.url.clone());
    let all = |output: &str| at(urls.iter().map(String::as_str), &["--dry-run", "--output", output]).run().done();
    let (json, lines) = (all("json"), all("ndjson"));
    let reports = json.json()["databases"].as_array().cloned().expect("databases");
    for (place, (report, name)) in reports.iter().zip(&names).enumerate() {
        assert!(report["database_name"].as_str().is_some_and(|of| of.ends_with(name)), "{}", report["database_name"]);
        assert_eq!(report["subjects"].as_array().map(Vec::len), Some(300 * (3 - place)));
        assert_eq!(report["kinds"]["issues"]["continued"], 300 * (3 - place));
    }
    let of = |line: &str| names.iter().position(|name| line.contains(&format!("/{name}\""))).expect("a name");
    let order: Vec<usize> = lines.out.lines().map(of).collect();
    assert!(order.is_sorted() && order.len() == 1800 + 3 * 3, "{order:?}");
    let log = at(urls.iter().map(String::as_str), &["-v", "--set", "connections=1"]).run().done().err;
    let logged: Vec<usize> = log
        .lines()
        .filter(|line| line.contains("continued"))
        .filter_map(|line| names.iter().position(|name| line.contains(name)))
        .collect();
    assert!(!logged.is_sorted(), "they were swept one after the other");
}
