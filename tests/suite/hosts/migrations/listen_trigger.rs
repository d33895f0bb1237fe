//! `--with-listen`: the one trigger on a table of Paperclip's, and only for who asks for it.

use super::*;

#[test]
fn a_trigger_on_paperclips_runs_comes_only_when_it_is_asked_for_and_goes_again() {
    let database = Scratch::paperclip();
    let before = database.catalog_of_host();
    migrate_at(&database.url, []).run().done();
    assert_eq!(database.catalog_of_host(), before);
    let without = database.catalog();

    let ran = migrate_at(&database.url, ["--with-listen"]).run().done();
    assert!(ran.out.ends_with("  hosts/paperclip/postgres_listen/2026-11-24-001301_listen\n"), "{ran}");
    let added: Vec<String> = database.catalog_of_host().difference(&before).cloned().collect();
    assert!(added.len() == 1 && added[0].contains("CREATE TRIGGER sweep_run_ended"), "{added:?}");

    // A later migration without the word leaves it; asking twice is no mistake.
    for arguments in [&[][..], &["--with-listen"], &["--print", "--with-listen"]] {
        let again = migrate_at(&database.url, arguments.iter().copied()).run().done();
        assert!(!again.out.contains("postgres_listen"), "{again}");
    }
    sweep_at(&database.url, []).run().done();

    revert_on_postgres(&database, &["hosts/paperclip/postgres_listen"]);
    assert_eq!(database.catalog(), without);
}

/// Behind a lock that is waited for, all of the host's own updates would wait as well.
#[test]
fn a_table_that_is_in_use_is_not_waited_for() {
    let database = Scratch::paperclip();
    migrate_at(&database.url, []).run().done();
    let mut host = database.connect();
    run(&mut host, "begin; lock table heartbeat_runs in row exclusive mode");
    migrate_at(&database.url, ["--with-listen"]).run().refused(78, &["nothing was changed", "lock timeout"]);
    run(&mut host, "commit");
    migrate_at(&database.url, ["--with-listen"]).run().done();
}

#[test]
fn it_can_be_read_before_it_is_made() {
    let database = Scratch::paperclip();
    let printed = migrate_at(&database.url, ["--print", "--with-listen"]).run().done().out;
    assert!(printed.contains("create trigger sweep_run_ended after update of status on public.heartbeat_runs"));
    assert!(!migrate_at(&database.url, ["--print"]).run().done().out.contains("sweep_run_ended"));
}

#[test]
fn sweeps_own_tables_have_it_anyway_and_sqlite_cannot() {
    let database = Scratch::empty();
    let ran = migrate_at(&database.url, ["--with-listen"]).run().done();
    assert!(ran.out.starts_with("Migrated (host native)"), "{ran}");
    let triggers = database.catalog().into_iter().filter(|line| line.contains("TRIGGER notify_of_run_end"));
    assert_eq!(triggers.count(), 1);
    assert!(migrate_at(&database.url, []).run().done().out.contains("up to date"));

    let (_directory, _, url) = new_file();
    migrate_at(&url, ["--with-listen"]).run().refused(64, &["--with-listen", "only PostgreSQL"]);
}
