//! `sweep host`: which control planes are known, and what one of them is; no database is asked.

use sweep::store::hosts::folders;

use crate::support::program::sweep;

#[test]
fn every_host_that_is_built_in_is_listed_and_shown() {
    let list = sweep(["host", "list"]).run().done();
    let documents = sweep(["host", "list", "--output", "json"]).run().done().json();
    for (host, document) in folders::names().iter().zip(documents["hosts"].as_array().expect("hosts")) {
        assert!(list.out.contains(host), "{list}");
        let shown = sweep(["host", "show", host, "--output", "json"]).run().done().json();
        assert_eq!(&shown["hosts"][0], document);
        let page = sweep(["host", "show", host]).run().done();
        assert!(page.out.starts_with(&format!("{host}: ")), "{page}");
        let files = sweep(["host", "show", host, "--files"]).run().done();
        for migration in document["migrations"].as_array().expect("migrations") {
            let path = migration.as_str().and_then(|path| path.strip_prefix(&format!("hosts/{host}/")));
            assert!(files.out.contains(&format!("\n-- {}/up.sql\n", path.expect("a path"))), "{migration}");
        }
    }
}

#[test]
fn one_of_a_teams_own_is_shown_as_it_would_be_installed() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/host");
    let shown = sweep(["host", "show", "--host-dir", example]).run().done();
    for part in ["tasks: Our tasks", "derived from its runs and wakes", "hosts/tasks/postgres/0001_work", "bigint"] {
        assert!(shown.out.contains(part), "{part}: {shown}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let empty = directory.path().display().to_string();
    sweep(["host", "show", "--host-dir", &empty]).run().refused(78, &[&empty, "host.toml: No such file or directory"]);
    sweep(["host", "show", "redmine"]).run().refused(64, &["expected native, paperclip or prefect"]);
    sweep(["host", "show"]).run().refused(64, &["HOST is missing"]);
}
