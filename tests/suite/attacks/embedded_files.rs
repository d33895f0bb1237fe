//! SQLite files and the other files that sweep makes: who may read them, and which files it refuses to open.

use std::collections::BTreeSet;
use std::fs::{Permissions, read, read_dir, set_permissions, write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use diesel::RunQueryDsl;
use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::sql_types::{Integer, Text};
use rstest::rstest;
use sweep::store::Db;

use crate::support::databases::{connect, run};
use crate::support::program::{BINARY, Program, command_at, migrate_at, sweep, sweep_at};
use crate::support::scratch::{new_file, url_of};

const USAGE: i32 = 64;
const CONFIG: i32 = 78;

/// `sweep` with these arguments, run by a user with a careless umask.
fn careless<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Program {
    let mut bash = Command::new("bash");
    bash.args(["-c", "umask 000; exec \"$0\" \"$@\"", BINARY]).args(arguments);
    Program::from_command(bash)
}

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o777
}

fn names_in(directory: &Path) -> BTreeSet<String> {
    let entries = read_dir(directory).expect("a directory");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn the_embedded_database_its_journals_and_its_directory_are_for_their_owner_only() {
    let home = tempfile::tempdir().expect("a home");
    careless(["migrate"]).env("HOME", home.path()).run().done();

    let directory = home.path().join(".local/share/sweep");
    let file = directory.join("sweep.db");
    assert_eq!((mode(&directory), mode(&file)), (0o700, 0o600));
    assert_eq!(mode(&home.path().join(".local")), 0o700);
    let mut db = connect(&url_of(&file));
    run(&mut db, "begin; select count(*) from issues");
    for journal in ["sweep.db-wal", "sweep.db-shm"] {
        assert_eq!(mode(&directory.join(journal)), 0o600, "{journal}");
    }
}

/// Each of the eight makes the directories.
#[test]
fn eight_first_starts_of_the_embedded_database_all_succeed() {
    let home = tempfile::tempdir().expect("a home");
    let mut programs: Vec<Program> = (0..8).map(|_| sweep(["migrate"]).env("HOME", home.path())).collect();
    let started: Vec<Child> = programs.iter_mut().map(Program::start).collect();
    let outputs = started.into_iter().map(|child| child.wait_with_output().expect("an end"));
    let ended = programs.into_iter().zip(outputs).map(|(program, output)| program.ended(output).done());
    assert_eq!(ended.filter(|ran| ran.out.starts_with("Migrated")).count(), 1, "the others find it done");
    assert_eq!(mode(&home.path().join(".local/share/sweep/sweep.db")), 0o600);
}

#[test]
fn a_database_at_a_path_that_was_given_is_for_its_owner_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let (migrated, played) = (directory.path().join("migrated.db"), directory.path().join("played.db"));
    careless(["migrate", "--database", &url_of(&migrated)]).run().done();
    careless(["demo", "--database", &url_of(&played)]).run().done();
    assert_eq!((mode(&migrated), mode(&played)), (0o600, 0o600));

    let temporary = tempfile::tempdir().expect("a directory");
    careless(["demo", "--keep"]).env("TMPDIR", temporary.path()).run().done();
    let kept = temporary.path().join(names_in(temporary.path()).first().expect("a directory"));
    assert_eq!((mode(&kept), mode(&kept.join("acme.db"))), (0o700, 0o600));
}

#[test]
fn the_log_of_a_crashed_agent_and_its_directory_are_for_their_owner_only() {
    let home = tempfile::tempdir().expect("a home");
    careless(["migrate"]).env("HOME", home.path()).run().done();
    let watch = ["watch", "--", "/bin/sh", "-c", "echo private; exit 3"];
    assert_eq!(careless(watch).env("HOME", home.path()).run().code, 3);
    let sessions = home.path().join(".local/share/sweep/sessions");
    let log = sessions.join(names_in(&sessions).first().expect("a log"));
    assert_eq!((mode(&sessions), mode(&log)), (0o700, 0o600));
}

/// The file of metrics replaces a file, and nothing else.
#[test]
fn a_pipe_is_not_replaced_by_the_file_of_metrics() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let (_database, _, url) = new_file();
    migrate_at(&url, []).run().done();
    let name = pipe.to_str().expect("a plain path");
    sweep_at(&url, ["--set", &format!("metrics_file={name}")])
        .run()
        .refused(CONFIG, &["--set metrics_file: ", "expected the name of a file"]);
    assert!(pipe.symlink_metadata().expect("a pipe").file_type().is_fifo());
}

/// sweep makes only the directory of the default path.
#[test]
fn the_directory_of_a_path_that_was_given_is_not_made() {
    let directory = tempfile::tempdir().expect("a directory");
    let missing = directory.path().join("missing");
    let url = url_of(&missing.join("sweep.db"));
    let says = ["sweep.db", "there is no directory ", missing.to_str().expect("a plain path")];
    migrate_at(&url, []).run().refused(CONFIG, &says);
    sweep(["migrate"]).env("DATABASE_URL", &url).run().refused(CONFIG, &says);
    sweep(["demo", "--database", &url]).run().refused(CONFIG, &says);
    let log = missing.join("agent.log");
    let (_file, _, url) = new_file();
    migrate_at(&url, []).run().done();
    let watch = ["watch", "--database", &url, "--log", log.to_str().expect("a plain path"), "--", "true"];
    sweep(watch).run().refused(USAGE, &["--log: ", "there is no directory "]);
    assert!(!missing.exists());
}

#[rstest]
#[case("sqlite://file:sweep.db")]
#[case("sqlite:file:sweep.db?mode=ro")]
#[case("sqlite://file:///tmp/sweep.db?mode=memory&cache=shared")]
#[case("sqlite://file::memory:")]
#[case("sqlite://:memory:")]
#[case("sqlite::memory:")]
fn a_uri_of_sqlites_is_no_path(#[case] url: &str) {
    let says = ["expected the plain path of a file"];
    for command in ["status", "migrate", "demo"] {
        sweep([command, "--database", url]).run().refused(USAGE, &says);
    }
    sweep([]).env("DATABASE_URL", url).run().refused(CONFIG, &says);
}

/// Each path stands beside a file that it would name as a URI.
#[rstest]
#[case("new.db?mode=ro", "new.db")]
#[case("new.db?mode=memory&cache=shared", "new.db")]
#[case("new.db?vfs=nowhere", "new.db")]
#[case("a%41.db", "aA.db")]
#[case("a#b.db", "a")]
#[case("file:x.db", "x.db")]
#[case(":memory:", "memory")]
#[case("50%.db", "50.db")]
fn a_path_names_just_that_file_for_reading_and_for_writing(#[case] name: &str, #[case] other: &str) {
    let directory = tempfile::tempdir().expect("a directory");
    write(directory.path().join(other), "theirs").expect("a file");
    let url = url_of(&directory.path().join(name));

    migrate_at(&url, []).run().done();
    sweep_at(&url, []).run().done();
    sweep_at(&url, ["--dry-run"]).run().done();

    let is_journal = |name: &String| ["-wal", "-shm"].iter().any(|end| name.ends_with(end));
    let files: BTreeSet<String> = names_in(directory.path()).into_iter().filter(|name| !is_journal(name)).collect();
    assert_eq!(files, BTreeSet::from([name.to_owned(), other.to_owned()]));
    assert_eq!(read(directory.path().join(other)).expect("a file"), b"theirs");
    assert_eq!(tables_in(&directory.path().join(name)), tables_in_a_new_one());
}

fn tables_in_a_new_one() -> BTreeSet<String> {
    let (_directory, path, url) = new_file();
    migrate_at(&url, []).run().done();
    tables_in(&path)
}

/// The tables in a file, read by another, plain name.
fn tables_in(path: &Path) -> BTreeSet<String> {
    let (_directory, copy, url) = new_file();
    std::fs::copy(path, &copy).expect("a copy");
    let Db::Sqlite(mut db) = connect(&url) else { unreachable!("a URL of SQLite") };
    let names: Vec<String> = sql::<Text>("select name from sqlite_master").load(&mut db).expect("names");
    names.into_iter().collect()
}

/// SQLite would take a name that is no UTF-8 for another one.
#[test]
fn a_home_whose_name_is_no_text_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = directory.path().join(std::ffi::OsStr::from_bytes(b"home\xff"));
    std::fs::create_dir(&home).expect("a directory");
    sweep(["migrate"]).env("HOME", &home).run().refused(CONFIG, &["is no UTF-8"]);
}

#[test]
fn a_directory_for_copies_whose_name_is_no_text_is_refused() {
    let ((directory, _, url), host) = (new_file(), ["host", "verify", "native"]);
    migrate_at(&url, []).run().done();
    let copies = directory.path().join(std::ffi::OsStr::from_bytes(b"copies\xff"));
    std::fs::create_dir(&copies).expect("a directory");
    command_at(&url, host).env("TMPDIR", &copies).run().says_once(CONFIG, &["is no UTF-8"]);
}

#[test]
fn a_pipe_or_a_device_is_no_database() {
    let directory = tempfile::tempdir().expect("a directory");
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for path in [&pipe, Path::new("/dev/zero")] {
        for arguments in [&["migrate"][..], &["status"], &["--dry-run"], &[]] {
            let mut timeout = Command::new("timeout");
            timeout.args(["20", BINARY]).args(arguments).args(["--database", &url_of(path)]);
            let says = [path.to_str().expect("a plain path"), "is no regular file"];
            Program::from_command(timeout).run().refused(CONFIG, &says);
        }
    }
}

/// Makes a file of another program's with these statements.
fn theirs(statements: &str) -> (tempfile::TempDir, PathBuf, String) {
    let (directory, path, url) = new_file();
    let Db::Sqlite(mut db) = connect(&url) else { unreachable!("a URL of SQLite") };
    db.batch_execute(statements).expect("their tables");
    drop(db);
    (directory, path, url)
}

#[rstest]
#[case::with_a_table("create table bookmarks (url text); insert into bookmarks values ('x'); pragma user_version = 7")]
#[case::in_wal_mode("pragma journal_mode = wal; create table bookmarks (url text); pragma user_version = 7")]
#[case::with_a_view("create view one as select 1; pragma user_version = 7")]
#[case::of_the_same_tools(
    "create table __diesel_schema_migrations (version varchar(50) primary key not null, run_on timestamp);
    create table bookmarks (url text); pragma user_version = 7"
)]
#[case::of_another_version(
    "create table __diesel_schema_migrations (version varchar(50) primary key not null, run_on timestamp);
    insert into __diesel_schema_migrations (version) values ('20200101000000'); pragma user_version = 7"
)]
fn a_file_of_somebody_elses_is_refused_and_left_as_it_is(#[case] statements: &str) {
    let (directory, path, url) = theirs(statements);
    let before = read(&path).expect("a file");

    for arguments in [&[][..], &["--print"], &["--host", "native"]] {
        migrate_at(&url, arguments.iter().copied()).run().refused(CONFIG, &[path.to_str().expect("a plain path")]);
    }
    for arguments in [&[][..], &["--dry-run"]] {
        sweep_at(&url, arguments.iter().copied()).run().refused(CONFIG, &[]);
    }

    assert!(before == read(&path).expect("a file"), "it was changed");
    let in_wal_mode = statements.contains("wal");
    assert!(in_wal_mode || names_in(directory.path()) == BTreeSet::from(["new.db".to_owned()]), "a file was made");
}

#[test]
fn a_file_of_somebody_elses_is_refused_with_what_it_has() {
    let (_directory, path, url) = theirs("create table bookmarks (url text); create index by_url on bookmarks (url)");
    let path = path.to_str().expect("a plain path");
    migrate_at(&url, [])
        .run()
        .refused(CONFIG, &[path, " is neither empty nor sweep's, nor of a host that sweep knows: it has bookmarks"]);
}

fn user_version(url: &str) -> i32 {
    let Db::Sqlite(mut db) = connect(url) else { unreachable!("a URL of SQLite") };
    sql::<Integer>("pragma user_version").get_result(&mut db).expect("a number")
}

/// The user version belongs to the application, and says nothing about sweep's schema.
#[test]
fn migrate_leaves_the_user_version_alone() {
    let (_directory, _path, url) = new_file();
    migrate_at(&url, []).run().done();
    assert_eq!(user_version(&url), 0);
    // An earlier sweep set 1, and another program may set 42.
    for version in [1, 42] {
        run(&mut connect(&url), &format!("pragma user_version = {version}"));
        migrate_at(&url, []).run().done();
        sweep_at(&url, []).run().done();
        assert_eq!(user_version(&url), version);
    }
}

/// A file that was there keeps its rights: somebody may have given them on purpose.
#[test]
fn a_file_that_was_there_keeps_its_mode() {
    let (_directory, path, url) = new_file();
    set_permissions(&path, Permissions::from_mode(0o640)).expect("rights");
    migrate_at(&url, []).run().done();
    assert_eq!(mode(&path), 0o640);
}
