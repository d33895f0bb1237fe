//! A plan is for one database and one set of rules; elsewhere it is refused with both values, and nothing is written.

use std::path::PathBuf;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::program::{Ran, migrate_at, sweep_at};
use crate::support::scratch::url_of;
use crate::support::server::Server;
use crate::support::world::{On, World, on_each_host};

const REFUSED: i32 = 78;

fn file(plan: &Value) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("plan.json");
    std::fs::write(&path, plan.to_string()).expect("a file");
    (directory, path)
}

fn apply(url: &str, plan: &Value, further: &[&str]) -> Ran {
    let (_directory, path) = file(plan);
    let arguments = ["--apply", path.to_str().expect("a plain path")].into_iter().chain(further.iter().copied());
    sweep_at(url, arguments).run()
}

fn plan_at(url: &str, further: &[&str]) -> Value {
    let arguments = ["--dry-run", "--output", "json"].into_iter().chain(further.iter().copied());
    sweep_at(url, arguments).run().done().json()
}

/// The plan as if it had been made where this is so.
fn with(plan: &Value, field: &str, value: &str) -> Value {
    let mut plan = plan.clone();
    plan[field] = json!(value);
    plan
}

on_each_host! {
    fn a_plan_for_another_place_is_refused_with_both_values(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);
        let plan = plan_at(&world.url, &[]);
        for (field, what) in [("database", "database"), ("host", "host"), ("schema_version", "schema")] {
            let now = plan[field].as_str().expect("a text").to_owned();
            let elsewhere = with(&plan, field, "elsewhere");
            let says = format!("the plan is refused: it was made for the {what} elsewhere, this is {now}");
            for further in [&[] as &[&str], &["--dry-run"], &["--no-guard"]] {
                apply(&world.url, &elsewhere, further).refused(REFUSED, &[&says]);
            }
        }
        let twin = World::new(world.on);
        apply(&twin.url, &plan, &[]).refused(REFUSED, &["it was made for the database ", ", this is "]);
        assert_eq!(world.count("sweeps") + world.rows_written().iter().sum::<i64>(), 0);
    }

    /// A restored backup has the name and number of the database, without what happened since.
    fn a_plan_is_refused_where_a_backup_was_restored_since(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);
        world.sweep();
        world.orphan(&agent);
        let plan = plan_at(&world.url, &[]);
        apply(&world.url, &plan, &["--dry-run"]).done();
        world.run("delete from sweeps");

        apply(&world.url, &plan, &[])
            .refused(REFUSED, &["it was made after the sweep ", "knows nothing", "a restored backup"]);
        assert_eq!(world.count("recoveries"), 1);
    }

    fn a_plan_of_other_rules_is_refused_with_each_that_differs(world) {
        let agent = world.agent("idle");
        world.orphan(&agent);
        let plan = plan_at(&world.url, &["--set", "orphan_grace=1500ms", "--set", "attempts_max=3"]);
        let says = ["it was made with other settings: ", "orphan_grace_seconds 1.5, now 120", "attempts_max 3, now 1"];
        apply(&world.url, &plan, &[]).refused(REFUSED, &says);
        let says = ["escalation \"comment_and_block\", now \"comment_only\""];
        let same = ["--set", "orphan_grace=1500ms", "--set", "attempts_max=3"];
        apply(&world.url, &plan, &[&same as &[&str], &["--set", "escalation=comment_only"]].concat())
            .refused(REFUSED, &says);
        assert_eq!(world.count("sweeps") + world.rows_written().iter().sum::<i64>(), 0);

        apply(&world.url, &plan, &same).done();
        assert_eq!(world.rows_written()[0], 1);
    }
}

#[test]
fn a_copy_of_a_file_is_another_database_and_another_name_of_it_is_not() {
    let mut world = World::new(On::Sqlite);
    let agent = world.agent("idle");
    world.orphan(&agent);
    let plan = plan_at(&world.url, &[]);
    world.run("pragma wal_checkpoint(truncate)");
    let path = PathBuf::from(world.url.strip_prefix("sqlite://").expect("a path"));
    let (copy, link) = (path.with_file_name("copy.db"), path.with_file_name("link.db"));
    std::fs::copy(&path, &copy).expect("a copy");
    std::os::unix::fs::symlink(&path, &link).expect("a link");
    let copied = copy.display().to_string();
    apply(&url_of(&copy), &plan, &[])
        .refused(REFUSED, &["it was made for the database ", "test.db, this is ", &copied]);
    apply(&url_of(&link), &plan, &[]).done();
    assert_eq!(world.count("wakes"), 1);
}

/// A branch of a database, or a standby that was promoted for a trial, has the number of its original.
#[test]
fn a_plan_of_a_copy_that_was_swept_is_refused_by_the_original() {
    let original = Server::start();
    migrate_at(&original.url, []).run().done();
    sweep_at(&original.url, []).run().done();
    let copy = original.standby();
    copy.promote();
    let (early, before) = (plan_at(&copy.url, &[]), plan_at(&original.url, &[]));
    sweep_at(&copy.url, []).run().done();
    let late = plan_at(&copy.url, &[]);

    apply(&original.url, &late, &[]).refused(REFUSED, &["it was made after the sweep ", "a copy"]);
    apply(&original.url, &before, &[]).done();
    // A copy that has had no sweep of its own cannot be distinguished from its original.
    apply(&original.url, &early, &[]).done();
}
