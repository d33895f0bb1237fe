//! Databases that are not in UTF-8: what sweep writes, every one of them can keep.

use std::path::PathBuf;

use crate::support::databases::{connect_server, database_url, run};
use crate::support::program::{command_at, migrate_at, sweep_at};
use crate::support::scratch::unique;
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

/// An empty world in a database of this encoding.
fn world_in(encoding: &str) -> World {
    // `databases::connect` knows a native database by its name.
    let name = format!("sweep_test_native_{}", unique());
    run(&mut connect_server(), &format!("create database {name} template template0 encoding '{encoding}' locale 'C'"));
    let url = database_url(&name);
    migrate_at(&url, []).run().done();
    World::at(On::Postgres, url, None)
}

#[test]
fn a_database_in_latin_1_is_migrated_swept_and_shown() {
    let mut world = world_in("LATIN1");
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.set("issues", &issue, "title = repeat('Müller', 1000)");
    world.set("agents", &agent, "name = repeat('Müller', 100)");
    let (_, step) = world.stalled_step(Some(&agent));
    let url = world.url.clone();
    let sweep = || sweep_at(&url, []).env("SWEEP_SLACK_URL", "http://127.0.0.1:1/hook").run().done();
    sweep();
    world.end_continuations("failed");
    world.pass(10);
    let ran = sweep();

    assert!(ran.out.contains("2 escalated"), "{ran}");
    assert_eq!((world.comments_on(&issue), world.status("issues", &issue)), (1, "blocked".to_owned()));
    assert_eq!(world.count("notifications"), 2);
    assert_eq!(world.wakes_for(&step), 1);
    let comment = world.text("body", "comments").expect("a comment");
    assert!(comment.contains("\"`MüllerMüller") && comment.contains("...`\""), "{comment}");
    command_at(&world.url, ["explain", "issue", &issue.0]).run().done();
    command_at(&world.url, ["status"]).run().done();
}

/// That it cannot hold a name says nothing of an outage.
#[test]
fn a_name_that_a_database_in_latin_1_cannot_have_is_no_outage() {
    let world = world_in("LATIN1");
    let ran = command_at(&world.url, ["explain", "issue", "日本"]).run();
    ran.refused(CONFIG, &["this database's encoding has no such character"]);
}

#[test]
fn all_that_a_migration_says_to_a_database_is_ascii() {
    let mut directories = vec![PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/migrations"))];
    let mut files = 0;
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                directories.push(path);
            } else {
                assert!(std::fs::read(&path).expect("a file").is_ascii(), "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(20 < files, "{files}");
}
