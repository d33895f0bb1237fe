//! `sweep migrate --uninstall`: it shows what it removes, and leaves what it found.

use super::*;

const USAGE: i32 = 64;

#[rstest]
#[case::native(Scratch::empty(), &[])]
#[case::paperclip(Scratch::paperclip(), &[])]
#[case::paperclip_with_its_trigger(Scratch::paperclip(), &["--with-listen"])]
fn on_postgres_nothing_is_left_and_the_next_migration_makes_the_same(
    #[case] database: Scratch,
    #[case] options: &[&'static str],
) {
    let before = database.catalog();
    migrate_at(&database.url, options.iter().copied()).run().done();
    let up = database.catalog();
    sweep_at(&database.url, []).run().done();

    migrate_at(&database.url, ["--uninstall", "--yes"]).run().done();

    assert_eq!(database.catalog(), before);
    sweep_at(&database.url, []).run().refused(CONFIG, &["is not set up for sweep: run `sweep migrate`"]);
    migrate_at(&database.url, ["--uninstall", "--yes"]).run().refused(CONFIG, &["is not set up for sweep"]);
    migrate_at(&database.url, options.iter().copied()).run().done();
    assert_eq!(database.catalog(), up);
    sweep_at(&database.url, []).run().done();
}

#[test]
fn on_sqlite_nothing_is_left_and_the_next_migration_makes_the_same() {
    let (_directory, _, url) = new_file();
    migrate_at(&url, []).run().done();
    let up = catalog(&mut connect(&url));
    assert!(up.len() > 10, "{up:?}");
    migrate_at(&url, ["--uninstall", "--yes"]).run().done();
    assert_eq!(catalog(&mut connect(&url)), BTreeSet::new());
    migrate_at(&url, []).run().done();
    assert_eq!(catalog(&mut connect(&url)), up);
    sweep_at(&url, []).run().done();
}

#[test]
fn it_shows_what_goes_and_removes_nothing_unasked() {
    let database = Scratch::empty();
    migrate_at(&database.url, []).run().done();
    database.run("insert into sweep.agents (name) values ('Ada'), ('Bob')");
    let before = database.catalog();
    let ran = migrate_at(&database.url, ["--uninstall"]).run();
    ran.refused(USAGE, &["nothing was removed: --uninstall asks at a terminal; elsewhere, add --yes"]);
    migrate_at(&database.url, ["--yes"]).run().refused(USAGE, &["--uninstall"]);
    migrate_at(&database.url, ["--uninstall", "--host", "native"]).run().refused(USAGE, &["--uninstall"]);
    assert_eq!(database.catalog(), before);
    let ran = migrate_at(&database.url, ["--uninstall", "--yes"]).run().done();
    for part in ["sweep.agents: 2 rows", "The work itself is in these tables", "Removed (host native)"] {
        assert!(ran.out.contains(part), "{ran}");
    }
}

#[test]
fn the_sql_that_is_printed_removes_it_as_well() {
    let database = Scratch::paperclip();
    let before = database.catalog();
    migrate_at(&database.url, []).run().done();
    let up = database.catalog();
    let printed = migrate_at(&database.url, ["--uninstall", "--print"]).run().done().out;
    assert_eq!(database.catalog(), up);
    database.run(&printed);
    assert_eq!(database.catalog(), before);
}

#[test]
fn what_somebody_has_built_on_it_is_named_and_nothing_goes() {
    let database = Scratch::empty();
    migrate_at(&database.url, []).run().done();
    database.run("create view board as select * from sweep.issue_work_state");
    let up = database.catalog();
    let ran = migrate_at(&database.url, ["--uninstall", "--yes"]).run();
    let found = "view public.board depends on view issue_work_state";
    ran.says_once(CONFIG, &["nothing was removed: board/issue/", found]);
    assert_eq!(database.catalog(), up);
    database.run("drop view board; create table sweep.notes (text text)");
    let ran = migrate_at(&database.url, ["--uninstall", "--yes"]).run();
    ran.says_once(CONFIG, &["nothing was removed: what is left: ", "table notes depends on schema sweep"]);
    database.run("drop table sweep.notes");
    migrate_at(&database.url, ["--uninstall", "--yes"]).run().done();
}

#[test]
fn whoever_does_not_own_it_removes_nothing() {
    let (database, role) = (Scratch::empty(), Role::new());
    migrate_at(&database.url, []).run().done();
    let up = database.catalog();
    let ran = migrate_at(&role.at(&database.url), ["--uninstall", "--yes"]).run();
    ran.refused(CONFIG, &["the schema sweep belongs to"]);
    assert_eq!(database.catalog(), up);
}
