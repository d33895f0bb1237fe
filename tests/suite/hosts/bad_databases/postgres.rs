//! PostgreSQL: servers that are down, databases that are not ours, roles without rights.

use super::*;
use crate::support::program::{migrate_at, sweep_at};
use crate::support::scratch::{Role, Scratch};
use crate::support::world::{On, World};

#[test]
fn a_server_that_is_down_is_unavailable() {
    let tcp = sweep_at("postgres://app:secret@127.0.0.1:1/app", []).run();
    tcp.refused(UNAVAILABLE, &["cannot reach PostgreSQL", "\"127.0.0.1\", port 1 failed: Connection refused"]);
    let socket = sweep_at("postgres:///app?host=/nonexistent", []).run();
    socket.refused(UNAVAILABLE, &["cannot reach PostgreSQL", "/nonexistent/", "No such file or directory"]);
    let migrate = migrate_at("postgres://app:secret@127.0.0.1:1/app", []).run();
    migrate.refused(UNAVAILABLE, &["cannot reach PostgreSQL"]);
}

#[test]
fn a_host_that_is_not_known_is_unavailable() {
    let ran = sweep_at("postgres://app:secret@no-such-host.invalid/app", []).run();
    ran.refused(UNAVAILABLE, &["could not translate host name \"no-such-host.invalid\""]);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test's own variable, no setting of sweep's")]
fn a_wrong_password_is_configuration() {
    let port = std::env::var("TEST_POSTGRES_PORT").expect("TEST_POSTGRES_PORT: run the tests by `make test`");
    let ran = sweep_at(&format!("postgres://postgres:secret@127.0.0.1:{port}/postgres"), []).run();
    ran.refused(CONFIG, &["password authentication failed for user \"postgres\""]);
    let ran = sweep_at(&format!("postgres://postgres@127.0.0.1:{port}/postgres"), []).run();
    ran.refused(CONFIG, &["no password supplied"]);
}

/// P12: for the first connection, and for those of the workers.
#[test]
fn a_server_without_free_connections_is_unavailable_and_nothing_is_done() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.run(&format!(
        "grant usage on schema sweep to {0}; grant select, insert, update on all tables in schema sweep to {0};
         grant execute on all functions in schema sweep to {0}",
        role.name
    ));
    let url = role.at(&world.url);
    for free in [0, 1] {
        world.run(&format!("alter role {} connection limit {free}", role.name));
        let ran = sweep_at(&url, []).run();
        ran.says_once(UNAVAILABLE, &["cannot reach PostgreSQL", "too many connections for role"]);
        assert_eq!(world.wakes_for(&issue), 0);
    }

    world.run(&format!("alter role {} connection limit 4", role.name));
    let ran = sweep_at(&url, ["--set", "connections=1", "--output", "json"]).run().done();
    assert_eq!(ran.json()["kinds"]["issues"]["continued"], 1);
    assert_eq!(world.wakes_for(&issue), 1);
}

#[test]
fn a_database_that_does_not_exist_is_configuration() {
    let ran = sweep_at(&crate::support::databases::database_url("no_such_database"), []).run();
    ran.refused(CONFIG, &["database \"no_such_database\" does not exist"]);
}

#[test]
fn a_database_that_is_not_migrated_is_refused() {
    let database = Scratch::empty();
    for arguments in [vec![], vec!["--dry-run"]] {
        let ran = sweep_at(&database.url, arguments).run();
        ran.refused(CONFIG, &["the database sweep_test_scratch_", "is not set up for sweep: run `sweep migrate`"]);
    }
}

#[test]
fn a_database_that_lacks_a_migration_is_refused_by_the_first_it_lacks() {
    let mut world = World::new(On::Postgres);
    world.run("delete from __diesel_schema_migrations where version >= '20261124001102'");
    let ran = sweep_at(&world.url, []).run();
    ran.refused(
        CONFIG,
        &["is behind this sweep", "hosts/native/postgres/2026-11-24-001102_triggers", "`sweep migrate`"],
    );
}

#[test]
fn a_database_that_is_newer_than_the_binary_is_refused() {
    let mut world = World::new(On::Postgres);
    world.run("insert into __diesel_schema_migrations (version) values ('20991231000000')");
    for program in [sweep_at(&world.url, []), migrate_at(&world.url, [])] {
        program.run().refused(CONFIG, &["newer than sweep", "20991231000000", "upgrade sweep"]);
    }
}

#[test]
fn an_issue_that_does_not_exist_is_a_wrong_argument() {
    let (world, id) = (World::new(On::Postgres), "0198c2a4-5b1e-7cc3-9d0a-3f2b8e6a7d10");
    let ran = sweep_at(&world.url, ["--issue", id]).run();
    ran.refused(USAGE, &["there is no issue", id]);
}

#[test]
fn a_role_without_rights_learns_all_that_it_lacks() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    let url = role.at(&world.url);
    let the_role = format!("the role {} lacks rights: ", role.name);
    sweep_at(&url, []).run().refused(CONFIG, &[&the_role, "USAGE on schema sweep"]);

    world.run(&format!("grant usage on schema sweep to {}", role.name));

    let all = [
        &the_role,
        "SELECT on sweep.__diesel_schema_migrations",
        "SELECT on sweep.issue_candidates",
        "SELECT on sweep.step_facts",
        "UPDATE on sweep.issues",
        "UPDATE on sweep.plan_steps",
        "INSERT on sweep.wakes",
        "INSERT on sweep.activity",
        "UPDATE on sweep.sweeps",
    ];
    sweep_at(&url, []).run().refused(CONFIG, &all);
    sweep_at(&url, ["--dry-run"]).run().refused(CONFIG, &all[..4]);
    migrate_at(&url, []).run().refused(CONFIG, &["the schema sweep belongs to", &role.name, "no member of that role"]);
}

/// What the refusal names is all: with exactly these rights everything that a sweep may do works.
fn the_rights_that_are_named_are_enough(on: On) {
    let role = Role::new();
    let mut world = World::new(on);
    let url = role.at(&world.url);
    world.run(&format!("grant usage on schema sweep to {}", role.name));
    let refusal = sweep_at(&url, []).run().err;
    let rights = refusal.trim().rsplit_once("lacks rights: ").expect("a list of rights").1;
    let rights = rights.split_once(". ").expect("its end").0;
    for right in rights.split(", ") {
        world.run(&format!("grant {right} to {}", role.name));
    }
    let agent = world.agent("idle");
    let (lost, healed, other) = (world.orphan(&agent), world.orphan(&agent), world.orphan(&agent));
    if on == On::Postgres {
        let (plan, _) = world.stalled_step(Some(&agent));
        let (nobodys, _) = world.stalled_step(None);
        for plan in [plan, nobodys] {
            let noted = world.orphan(&agent);
            world.set("issues", &noted, "status = 'todo'");
            world.set("plans", &plan, &format!("issue_id = '{noted}'"));
        }
        let (silent, crashed) = (world.session(Some(&agent), None), world.session(Some(&agent), Some(&other)));
        world.progresses(&silent);
        world.pass(10);
        world.ends(&crashed, "1");
    }
    let sweep = || sweep_at(&url, ["--output", "json"]).run().done();
    sweep();
    world.end_continuations("failed");
    world.pass(10);
    world.set("issues", &healed, "status = 'done'");
    sweep();

    assert_eq!((world.status("issues", &lost), world.comments_on(&lost)), ("blocked".to_owned(), 1));
    if on == On::Postgres {
        assert_eq!(world.count("comments"), 4, "of the issue, of the steps of both plans, of the session");
    }
    assert_eq!(world.count("recoveries where action = 'recover'"), 1);
}

#[test]
fn the_rights_that_are_named_are_enough_on_the_native_host() {
    the_rights_that_are_named_are_enough(On::Postgres);
}

#[test]
fn the_rights_that_are_named_are_enough_on_paperclip() {
    the_rights_that_are_named_are_enough(On::Paperclip);
}
