//! `sweep migrate --uninstall`: it shows what it removes, and leaves what it found.

use super::*;
use crate::support::scratch::psql;
use crate::support::world::{On, World};

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

/// As an operator does whose host could not upgrade itself. Without the removal its upgrade fails.
#[test]
fn a_host_changes_a_column_that_a_view_reads_while_only_the_ledger_stays() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let issue = world.escalated_issue(&agent);
    let upgrade = "alter table public.issues alter column identifier type varchar(100);
                   alter table public.heartbeat_runs alter column status type varchar(100)";
    let refused = psql(&world.url, upgrade).expect_err("a view reads it");
    assert!(refused.contains("cannot alter type of a column used by a view"), "{refused}");

    let printed = migrate_at(&world.url, ["--uninstall", "--keep-ledger", "--print"]).run().done().out;
    let removed = migrate_at(&world.url, ["--uninstall", "--keep-ledger", "--yes"]).run().done().out;
    psql(&world.url, upgrade).expect("an upgrade");
    sweep_at(&world.url, []).run().refused(CONFIG, &["run `sweep migrate`"]);
    migrate_at(&world.url, []).run().done();

    assert!(printed.contains("drop view if exists issue_facts") && !printed.contains("drop table"), "{printed}");
    assert!(removed.contains("What sweep remembers stays"), "{removed}");
    assert_eq!(world.count(&format!("recoveries where subject_id = '{issue}'")), 2);
    let other = world.orphan(&agent);
    let swept = world.sweep();
    assert_eq!((swept.outcome(&issue), swept.outcome(&other)), ("not examined", "continued"));
}

#[test]
fn where_no_view_stands_over_anothers_tables_there_is_no_ledger_to_keep() {
    let (_directory, _, file) = new_file();
    let database = Scratch::empty();
    for url in [&file, &database.url] {
        migrate_at(url, []).run().done();
        let ran = migrate_at(url, ["--uninstall", "--keep-ledger", "--yes"]).run();
        ran.refused(USAGE, &["--keep-ledger is for another program's tables on PostgreSQL"]);
        sweep_at(url, []).run().done();
    }
    migrate_at(&database.url, ["--keep-ledger"]).run().refused(USAGE, &["--uninstall"]);
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

/// Its versions are those of today, and one of its migrations was another when it was made.
#[test]
fn a_schema_of_which_views_are_missing_can_be_removed() {
    for database in [Scratch::paperclip(), Scratch::empty()] {
        migrate_at(&database.url, []).run().done();
        database.run("alter table sweep.recoveries drop column lost_agent cascade");
        migrate_at(&database.url, ["--uninstall", "--yes"]).run().done();
        migrate_at(&database.url, []).run().done();
        sweep_at(&database.url, []).run().done();
    }
}
