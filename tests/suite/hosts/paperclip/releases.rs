//! Paperclip's releases: which are too old, and a host that upgrades itself while sweep is installed.
//!
//! A release adds migrations to those of the one before, and changes none. So the schema of an older one is the
//! beginning of the newest one's, up to its own last migration.

use rstest::rstest;
use sweep::rules::{Id, Kind};

use super::orphan;
use crate::support::databases::{database_url, load, new_database, paperclip_schema};
use crate::support::program::{command_at, explain, migrate_at};
use crate::support::scratch::{Scratch, unique};
use crate::support::world::{On, World};

const CONFIG: i32 = 78;

/// The migrations up to a release's last one, and those of its upgrade to the newest release.
fn parted_after(migration: &str) -> (String, String) {
    let mut older = paperclip_schema();
    let begin = older.find(&format!("\n-- {migration}\n")).expect("a migration of Paperclip's");
    let length = older[begin..].find("\ncommit;\n").expect("its end") + "\ncommit;\n".len();
    let newer = older.split_off(begin + length);
    let settings = older.split("\n\n").next().unwrap_or_default();
    let newer = format!("{settings}\n{newer}");
    (older, newer)
}

/// An issue is continued and later escalated, a silent run is reported, and people are shown both.
fn assert_swept(world: &mut World) -> Id {
    let (issue, agent) = orphan(world);
    let run = world.silent_run(&agent, None);
    let first = world.sweep();
    assert_eq!((first.outcome(&issue), first.outcome(&run)), ("continued", "escalated"), "{}", first.json);
    world.end_continuations("failed");
    world.pass(10);
    assert_eq!(world.sweep().outcome(&issue), "escalated");
    assert_eq!((world.wakes_for(&issue), world.comments_on(&issue)), (1, 1));
    assert_eq!((world.status("issues", &issue).as_str(), world.count("left_issues")), ("blocked", 0));
    command_at(&world.url, ["status"]).run().done();
    assert_eq!(explain(&world.url, Kind::Issue, &issue.0)["id"], issue.0);
    issue
}

#[rstest]
#[case::of_2026_722("0183_connection_user_authorization_state")]
#[case::of_2026_817("0211_bright_morg")]
#[case::of_2026_831("0230_better_auth_account_issuer")]
#[case::of_2026_916("0279_tired_deathstrike")]
fn a_release_is_swept_before_and_after_its_own_upgrade_of_which_no_migration_fails(#[case] last: &str) {
    let (older, newer) = parted_after(last);
    let name = format!("sweep_test_{}", unique());
    new_database(&name);
    load(&name, &older);
    migrate_at(&database_url(&name), ["--with-listen"]).run().done();
    let mut world = World::at(On::Paperclip, database_url(&name), None);
    assert_swept(&mut world);
    let (continued_before, _) = orphan(&mut world);
    assert_eq!(world.sweep().outcome(&continued_before), "continued");

    load(&name, &newer);

    world.end_continuations("failed");
    world.pass(10);
    assert_eq!(world.sweep().outcome(&continued_before), "escalated");
    let issue = assert_swept(&mut world);
    let owner = world.text("unblock_descriptor ->> 'owner'", &format!("issues where id = '{issue}'"));
    assert_eq!(owner.as_deref(), Some("board"));
    let again = migrate_at(&world.url, []).run().done();
    assert!(again.out.contains("up to date"), "{again}");
}

#[rstest]
#[case::of_2026_707("0135_repair_run_responsible_user_updated_at_sweep", "it lacks issues.harness_kind)")]
#[case::of_2026_403("0048_flashy_marrow", "it lacks environment_leases")]
fn a_release_that_is_too_old_is_refused_with_the_oldest_that_works(#[case] last: &str, #[case] lacks: &str) {
    let database = Scratch::empty();
    load(database.name(), &parted_after(last).0);
    let before = database.catalog();
    for arguments in [vec![], vec!["--print"], vec!["--host", "paperclip"]] {
        migrate_at(&database.url, arguments)
            .run()
            .refused(CONFIG, &["is older than 2026.722.0", lacks, "upgrade Paperclip first"]);
    }
    assert_eq!(database.catalog(), before);
}
