//! The schema: up, down and up again; found to be whose it is; made once, whoever makes it at the same time; and never
//! a thing outside of it touched.

mod host_recognition;
mod listen_trigger;
mod uninstallation;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rstest::rstest;
use sweep::store::Db;

use crate::support::databases::{connect, run};
use crate::support::program::{Program, Ran, migrate_at, sweep_at};
use crate::support::scratch::{Role, Scratch, catalog, new_file};

const BUSY: i32 = 75;
const CONFIG: i32 = 78;

/// Where all but the ledger is, below `migrations`.
const BESIDE_THE_LEDGER: [&str; 20] = [
    "ledger_views", "hosts/native/both", "hosts/native/postgres", "facts/shared/both", "facts/shared/postgres",
    "facts/issue/both", "facts/issue/postgres", "facts/step/both", "facts/step/postgres", "facts/session/both",
    "board/agents", "board/issue", "board/step", "board/session", "take/session", "take/issue", "take/step",
    "take/all", "keep/both", "keep/postgres",
];

/// Runs the down.sql of each, the last first, and forgets that it has run.
pub fn revert(db: &mut Db, sources: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let folders = sources.iter().flat_map(|source| std::fs::read_dir(root.join(source)).expect("migrations"));
    let folders = folders.map(|entry| entry.expect("a folder").path());
    let mut folders: Vec<PathBuf> = folders.filter(|path| path.is_dir()).collect();
    folders.sort_by_key(|path| path.file_name().map(|name| name.to_owned()));
    for folder in folders.iter().rev() {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name");
        let version: String = name.chars().filter(char::is_ascii_digit).collect();
        run(db, &std::fs::read_to_string(folder.join("down.sql")).expect("a way back"));
        run(db, &format!("delete from __diesel_schema_migrations where version = '{version}'"));
    }
}

fn revert_on_postgres(database: &Scratch, sources: &[&str]) {
    let mut db = database.connect();
    run(&mut db, "set search_path = sweep");
    revert(&mut db, sources);
}

/// Without the table in which diesel keeps the versions, and its index.
pub fn beside_versions(catalog: BTreeSet<String>) -> BTreeSet<String> {
    catalog.into_iter().filter(|line| !line.contains("__diesel_schema_migrations")).collect()
}

/// What is undone by hand, as after an upgrade of the host, is made again beside the ledger and its rows.
#[test]
fn a_schema_of_which_all_but_the_ledger_was_undone_is_completed() {
    let (database, whole) = (Scratch::empty(), Scratch::empty());
    for database in [&database, &whole] {
        migrate_at(&database.url, []).run().done();
    }
    revert_on_postgres(&database, &BESIDE_THE_LEDGER);

    sweep_at(&database.url, []).run().refused(CONFIG, &["run `sweep migrate`"]);
    let ran = migrate_at(&database.url, []).run().done();

    assert!(ran.out.starts_with("Migrated (host native)"), "{ran}");
    assert_eq!(ran.out.matches("\n  ").count(), 23, "{ran}");
    assert_eq!(database.catalog(), whole.catalog());
}

#[test]
fn migrating_twice_says_that_the_schema_is_up_to_date() {
    let (_directory, path, url) = new_file();
    let database = Scratch::empty();
    for (url, migrations) in [(&url, 18), (&database.url, 25)] {
        let (first, second) = (migrate_at(url, []).run().done(), migrate_at(url, []).run().done());
        assert!(
            first.out.starts_with("Migrated (host native)") && first.out.matches("\n  ").count() == migrations,
            "{first}"
        );
        assert!(second.out.starts_with("The schema is up to date (host native)"), "{second}");
    }
    assert!(migrate_at(&url, []).run().out.contains(&path.display().to_string()));
}

mod printed {
    use super::*;

    /// Like an operator: `sweep migrate --print | psql`.
    fn psql(url: &str, sql: &str) {
        use std::io::Write;
        let mut psql = Command::new("psql")
            .args(["-q", "-X", "-v", "ON_ERROR_STOP=1", url])
            .stdin(Stdio::piped())
            .spawn()
            .expect("psql");
        psql.stdin.take().expect("a pipe").write_all(sql.as_bytes()).expect("psql reads");
        assert!(psql.wait().expect("psql").success());
    }

    #[rstest]
    #[case::native(Scratch::empty(), Scratch::empty())]
    #[case::paperclip(Scratch::paperclip(), Scratch::paperclip())]
    fn sql_run_by_psql_makes_what_migrate_makes(#[case] by_hand: Scratch, #[case] by_sweep: Scratch) {
        let before = by_hand.catalog();
        let printed = migrate_at(&by_hand.url, ["--print"]).run().done().out;
        assert_eq!(by_hand.catalog(), before, "printing changes nothing");

        psql(&by_hand.url, &printed);
        migrate_at(&by_sweep.url, []).run().done();

        assert_eq!(by_hand.catalog(), by_sweep.catalog());
        sweep_at(&by_hand.url, []).run().done();
        assert!(migrate_at(&by_hand.url, []).run().done().out.contains("up to date"));
        psql(&by_hand.url, &migrate_at(&by_hand.url, ["--print"]).run().done().out);
    }

    #[test]
    fn sql_run_by_sqlite_makes_what_migrate_makes() {
        let ((_one, _, by_hand), (_two, _, by_sweep)) = (new_file(), new_file());
        let printed = migrate_at(&by_hand, ["--print"]).run().done().out;

        run(&mut connect(&by_hand), &printed);
        migrate_at(&by_sweep, []).run().done();

        // The table of versions is the same in other words.
        let made = |url| beside_versions(catalog(&mut connect(url)));
        assert_eq!(made(&by_hand), made(&by_sweep));
        sweep_at(&by_hand, []).run().done();
        assert!(migrate_at(&by_hand, []).run().done().out.contains("up to date"));
    }
}

mod at_once {
    use super::*;

    fn eight_migrations(url: &str) {
        let mut programs: Vec<Program> = (0..8).map(|_| migrate_at(url, [])).collect();
        let started: Vec<Child> = programs.iter_mut().map(Program::start).collect();
        let outputs = started.into_iter().map(|child| child.wait_with_output().expect("an end"));
        let ended: Vec<Ran> =
            programs.into_iter().zip(outputs).map(|(program, output)| program.ended(output).done()).collect();
        let ran = ended.iter().filter(|ran| ran.out.starts_with("Migrated")).count();
        assert_eq!(ran, 1, "the others find it done");
        sweep_at(url, []).run().done();
    }

    #[test]
    fn eight_first_starts_on_postgres_all_succeed() {
        eight_migrations(&Scratch::empty().url);
    }

    #[test]
    fn eight_first_starts_on_sqlite_all_succeed() {
        let directory = tempfile::tempdir().expect("a directory");
        eight_migrations(&format!("sqlite://{}/new.db", directory.path().display()));
    }

    #[test]
    fn a_file_that_another_holds_for_long_is_busy() {
        let (_directory, path, url) = new_file();
        let mut rival = connect(&url);
        run(&mut rival, "begin immediate");
        let ran = migrate_at(&url, []).run();
        ran.refused(BUSY, &[&path.display().to_string(), "database is locked"]);
    }
}
