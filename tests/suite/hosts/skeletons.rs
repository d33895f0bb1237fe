//! `sweep host new`: the beginning of a folder fits the database at hand, can be installed as it is, and promises
//! nothing that it does not keep.

use std::path::Path;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use tempfile::TempDir;

use crate::support::folder::example;
use crate::support::program::{command_at, migrate_at, sweep_at};
use crate::support::scratch::{Scratch, hand_over, new_file};

const CONFIG: i32 = 78;

/// A new folder for this database, and where it is.
fn new_folder(url: &str) -> (TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("Our work").display().to_string();
    let ran = command_at(url, ["host", "new", &folder]).run().done();
    assert!(ran.out.contains("/Our work/host.toml\n") && ran.out.contains("sweep host verify"), "{ran}");
    (directory, folder)
}

fn text(folder: &str, file: &str) -> String {
    std::fs::read_to_string(Path::new(folder).join(file)).expect("a file")
}

#[test]
fn a_beginning_is_installed_as_it_is_and_finds_nothing_on_postgres() {
    let database = Scratch::empty();
    database.run(&std::fs::read_to_string(example("tables.sql")).expect("the tables"));
    let before = database.catalog();
    let (_directory, folder) = new_folder(&database.url);
    assert_eq!(database.catalog(), before);

    let up = text(&folder, "postgres/0001_work/up.sql");
    assert!(up.contains("--   tasks (id bigint, title text, state text, worker_id bigint, note text, "), "{up}");
    let manifest = text(&folder, "host.toml");
    assert!(manifest.contains("name = \"our_work\"") && manifest.contains("id = \"bigint\""), "{manifest}");

    assert!(migrate_at(&database.url, ["--host-dir", &folder]).run().done().out.contains("host our_work"));
    sweep_at(&database.url, []).run().done();
    migrate_at(&database.url, ["--uninstall", "--yes"]).run().done();
    assert_eq!(database.catalog(), before);
    finds_what_is_missing(&database.url, &folder);
}

#[test]
fn a_beginning_is_installed_as_it_is_and_finds_nothing_on_sqlite() {
    let (_file, path, url) = new_file();
    let mut db = SqliteConnection::establish(&path.display().to_string()).expect("a file");
    db.batch_execute(&std::fs::read_to_string(example("tables.sqlite.sql")).expect("the tables")).expect("tables");
    let (_directory, folder) = new_folder(&url);
    finds_what_is_missing(&url, &folder);
    assert!(migrate_at(&url, ["--host-dir", &folder]).run().done().out.contains("host our_work"));
    sweep_at(&url, []).env("SWEEP_HOST_DIR", &folder).run().done();
}

/// What is not filled in yet is no promise that is kept.
fn finds_what_is_missing(url: &str, folder: &str) {
    let url = hand_over(url);
    let checks = ["continuation", "recovery", "escalation", "patience", "locks", "footprint"];
    let flags = checks.iter().flat_map(|check| ["--check", check]);
    let ran = command_at(&url, ["host", "verify", "--host-dir", folder].into_iter().chain(flags)).run();
    assert_eq!(ran.code, 1, "{ran}");
    for part in ["  installation  kept", "issue_candidates does not name it", "\nBroken: "] {
        assert!(ran.out.contains(part), "{part}: {ran}");
    }
    for check in checks {
        assert!(ran.out.contains(&format!("  {check:<12}  broken")), "{check}: {ran}");
    }
}

/// Names that end a line, a string or a key.
#[test]
fn tables_with_odd_names_are_shown_in_comments_and_named_where_they_can_be() {
    let names = ["a\nselect 1;", "b\"c", "d'e", "f\\g", "[h]", "i = j", "k.l", "é #"];
    let tables =
        names.map(|name| format!("create table \"{0}\" (\"{0}\" int primary key);", name.replace('"', "\"\"")));
    let (_file, path, url) = new_file();
    let mut db = SqliteConnection::establish(&path.display().to_string()).expect("a file");
    db.batch_execute(&tables.concat()).expect("tables");
    let database = Scratch::empty();
    database.run(&tables.concat());
    for (url, source) in [(&url, "sqlite"), (&database.url, "postgres")] {
        let (_directory, folder) = new_folder(url);
        let manifest = text(&folder, "host.toml");
        for named in &names[4..] {
            assert!(manifest.contains(&format!("\n\"{named}\" = []\n")), "{named}: {manifest}");
        }
        assert!(!manifest.contains("select 1"), "{manifest}");
        let up = text(&folder, &format!("{source}/0001_work/up.sql"));
        assert!(up.contains("\n--   a select 1; (a select 1; int"), "{up}");
        assert!(migrate_at(url, ["--host-dir", &folder]).run().done().out.contains("host our_work"));
    }
}

#[test]
fn a_database_whose_tables_are_all_in_another_schema_has_no_beginning() {
    let database = Scratch::empty();
    database.run("create schema app; create table app.tasks (id text primary key)");
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("new").display().to_string();
    let says = ["has no tables", "expected tables of the schema public", "sweep works with no other"];
    command_at(&database.url, ["host", "new", &folder]).run().refused(CONFIG, &says);
    assert!(!Path::new(&folder).exists());
}

#[test]
fn nothing_is_written_over_and_an_empty_database_has_no_host() {
    let database = Scratch::empty();
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("new").display().to_string();
    command_at(&database.url, ["host", "new", &folder]).run().refused(CONFIG, &["has no tables"]);
    assert!(!Path::new(&folder).exists());
    database.run("create table tasks (id text primary key)");
    std::fs::create_dir(&folder).expect("a directory");
    std::fs::write(Path::new(&folder).join("notes"), "mine").expect("a file");
    command_at(&database.url, ["host", "new", &folder]).run().refused(64, &["it is not empty"]);
}
