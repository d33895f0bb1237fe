//! SQLite files of other programs: sweep is a guest there. Its ledger alone lasts; the program's tables, journal and
//! version stay as they were; and no write of the program's is lost.

use std::path::PathBuf;
use std::process::Command;

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use rstest::rstest;
use tempfile::TempDir;

use crate::support::program::{self, Program, migrate_at};

const CONFIG: i32 = 78;
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/host");

/// The program whose file it is: this process.
pub struct Owner {
    pub directory: TempDir,
    pub path: PathBuf,
    pub url: String,
    pub db: SqliteConnection,
}

/// `sweep`, whose operator names the folder of the file's host.
pub fn sweep_at<'a>(url: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    program::sweep_at(url, arguments).env("SWEEP_HOST_DIR", EXAMPLE)
}

fn command_at<'a>(url: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Program {
    program::command_at(url, arguments).env("SWEEP_HOST_DIR", EXAMPLE)
}

impl Owner {
    /// With one task on which nobody works, and one that is worked on.
    pub fn new(journal: &str) -> Owner {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("tasks.db");
        let mut db = SqliteConnection::establish(&path.display().to_string()).expect("a file");
        db.batch_execute(&format!("pragma journal_mode = {journal}; pragma user_version = 7")).expect("a file");
        let tables = std::fs::read_to_string(format!("{EXAMPLE}/tables.sqlite.sql")).expect("the tables");
        db.batch_execute(&tables).expect("the tables");
        db.batch_execute(
            "insert into workers (name) values ('Ada');
             insert into tasks (title, state, worker_id, changed_at) values
                 ('nobody is on it', 'doing', 1, datetime('now', '-1 hour')),
                 ('its job is running', 'doing', 1, datetime('now', '-1 hour'));
             insert into jobs (task_id, worker_id, state, queued_at)
             values (2, 1, 'running', datetime('now', '-1 hour'))",
        )
        .expect("the work");
        let url = format!("sqlite://{}", path.display());
        Owner { directory, path, url, db }
    }

    pub fn with_sweep(journal: &str) -> Owner {
        let owner = Owner::new(journal);
        migrate_at(&owner.url, ["--host-dir", EXAMPLE]).run().done();
        owner
    }

    pub fn run(&mut self, statements: &str) {
        self.db.batch_execute(statements).unwrap_or_else(|error| panic!("{error}: {statements}"));
    }

    pub fn texts(&mut self, query: &str) -> Vec<String> {
        sql::<Text>(query).load(&mut self.db).unwrap_or_else(|error| panic!("{error}: {query}"))
    }

    /// What stands in the file that is not called sweep's, and what the program alone decides.
    fn own(&mut self) -> Vec<String> {
        self.texts(
            "select type || ' ' || name || ' ' || coalesce(sql, '') from sqlite_master
             where tbl_name not like 'sweep\\_%' escape '\\'
             union all select 'user_version ' || user_version from pragma_user_version
             union all select 'application_id ' || application_id from pragma_application_id
             union all select 'journal_mode ' || journal_mode from pragma_journal_mode order by 1",
        )
    }

    /// Looks at its own file beside SQLite, as some programs do; by the rules of POSIX that costs it all its locks.
    fn looks_at_its_file(&self) {
        drop(std::fs::File::open(&self.path).expect("the file"));
    }
}

#[rstest]
#[case("wal")]
#[case("delete")]
fn tasks_in_a_file_are_continued_and_escalated_and_the_rest_of_it_stays_as_it_was(#[case] journal: &str) {
    let mut owner = Owner::new(journal);
    let before = owner.own();
    migrate_at(&owner.url, ["--host-dir", EXAMPLE]).run().done();
    sweep_at(&owner.url, ["--dry-run"]).run().done();
    sweep_at(&owner.url, []).run().done();
    let jobs = "select task_id || ' ' || state from jobs where id > 1";
    assert_eq!(owner.texts(jobs), ["1 queued"]);
    sweep_at(&owner.url, []).run().done();
    assert_eq!(owner.texts(jobs), ["1 queued"], "it waits for its worker");

    owner.run(
        "update jobs set state = 'failed', queued_at = datetime('now', '-20 minutes'),
             ended_at = datetime('now', '-19 minutes') where id = 2;
         update sweep_recoveries set created_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-20 minutes')",
    );
    sweep_at(&owner.url, []).run().done();
    let stuck = owner.texts("select state || ': ' || note from tasks where id = 1");
    assert!(stuck[0].starts_with("stuck: ") && stuck[0].contains("set the task to open"), "{stuck:?}");
    assert_eq!(owner.texts("select action from sweep_recoveries where settled_at is null"), ["escalate"]);

    owner.run("update tasks set state = 'done' where id = 1");
    let status = command_at(&owner.url, ["status", "--output", "json"]).run().done().json();
    assert_eq!(status["host"], "tasks");
    command_at(&owner.url, ["exempt", "add", "issue", "t2", "--reason", "on purpose"]).run().done();
    command_at(&owner.url, ["exempt", "add", "issue", "t2", "--reason", "again"]).run().done();
    let explained = command_at(&owner.url, ["explain", "issue", "t2"]).run().done();
    assert!(explained.out.contains("again"), "{explained}");
    command_at(&owner.url, ["exempt", "remove", "issue", "t2"]).run().done();
    assert!(
        migrate_at(&owner.url, []).env("SWEEP_HOST_DIR", EXAMPLE).run().done().out.contains("up to date (host tasks)")
    );
    assert_eq!(owner.own(), before);
    assert_eq!(owner.texts("select integrity_check from pragma_integrity_check"), ["ok"]);
}

#[test]
fn sweeps_at_once_queue_one_job_between_them() {
    let mut owner = Owner::with_sweep("wal");
    let mut programs = [(); 4].map(|()| sweep_at(&owner.url, []));
    for child in programs.each_mut().map(|program| program.start()) {
        child.wait_with_output().expect("an end");
    }
    sweep_at(&owner.url, []).run().done();
    assert_eq!(owner.texts("select count(*) || '' from jobs where id > 1"), ["1"]);
}

/// What the owner writes after somebody else has looked at its file, as another process reads it.
fn notes_that_are_left(owner: &mut Owner, look: impl FnOnce(&str)) -> String {
    owner.run("update tasks set note = 'before' where id = 2");
    owner.looks_at_its_file();
    look(&owner.url);
    owner.run("update tasks set note = note || ', after' where id = 2");
    // Without the owner's own memory of what it wrote.
    let reader = Command::new("sqlite3").arg(&owner.path).arg("select note from tasks where id = 2").output();
    String::from_utf8_lossy(&reader.expect("sqlite3").stdout).trim_end().to_owned()
}

#[test]
fn no_write_of_the_owners_is_lost_when_sweep_closes_its_file() {
    let mut owner = Owner::with_sweep("wal");
    let commands: [&[&str]; 6] =
        [&["--dry-run"], &[], &["status"], &["explain", "issue", "t2"], &["migrate"], &["migrate", "--print"]];
    for words in commands {
        let left = notes_that_are_left(&mut owner, |url| {
            command_at(url, words.iter().copied()).run().done();
        });
        assert_eq!(left, "before, after", "{words:?}");
    }
    // A file that is refused is somebody's as well.
    let mut stranger = Owner::new("wal");
    for words in [&["migrate"][..], &["--dry-run"], &["status"]] {
        let left = notes_that_are_left(&mut stranger, |url| {
            command_at(url, words.iter().copied()).run().refused(CONFIG, &[]);
        });
        assert_eq!(left, "before, after", "{words:?}");
    }
}

/// The negative control: any other program that opens and closes the file takes the owner's writes with it.
#[test]
fn a_program_that_closes_the_file_as_sqlite_does_by_itself_loses_them() {
    let mut owner = Owner::new("wal");
    let left = notes_that_are_left(&mut owner, |_| ());
    assert_eq!(left, "before, after");
    let mut owner = Owner::new("wal");
    let path = owner.path.clone();
    let left = notes_that_are_left(&mut owner, |_| {
        let looked = Command::new("sqlite3").arg(path).arg("select count(*) from tasks").status();
        assert!(looked.expect("sqlite3").success());
    });
    assert_eq!(left, "before");
}

#[test]
fn the_owner_may_change_its_tables_under_sweep() {
    let mut owner = Owner::with_sweep("wal");
    // As programs do that rebuild a table whose columns have drifted.
    owner.run(
        "pragma foreign_keys = off; pragma legacy_alter_table = on; begin; alter table tasks rename to tasks_legacy;
         create table tasks (id integer primary key, title text not null, state text not null, worker_id integer,
             note text not null default '', changed_at text not null default current_timestamp, colour text);
         insert into tasks select *, 'red' from tasks_legacy; drop table tasks_legacy; commit",
    );
    let swept = sweep_at(&owner.url, []).run().done();
    assert!(swept.out.contains("1 continued"), "{swept}");
    owner.run("alter table tasks rename column note to remark");
    let ran = sweep_at(&owner.url, []).run();
    assert!(ran.code != 0 && ran.err.contains("note"), "{ran}");
    owner.run("drop table jobs");
    let ran = sweep_at(&owner.url, []).run();
    assert!(ran.code != 0, "{ran}");
}

#[test]
fn a_file_of_nobody_that_sweep_knows_is_refused_until_its_host_is_named() {
    let mut owner = Owner::new("wal");
    let before = owner.own();
    for words in [&["migrate"][..], &["migrate", "--host", "native"], &["migrate", "--print"]] {
        let ran = command_at(&owner.url, words.iter().copied()).run();
        ran.refused(
            CONFIG,
            &["neither empty nor sweep's, nor of a host that sweep knows: it has jobs, tasks, workers"],
        );
    }
    sweep_at(&owner.url, []).run().refused(CONFIG, &["is not set up for sweep"]);
    owner.run("drop table jobs");
    let named = migrate_at(&owner.url, ["--host-dir", EXAMPLE]).run();
    named.refused(CONFIG, &["this is not Our tasks's database, it lacks the table jobs"]);
    let after: Vec<String> = before.into_iter().filter(|line| !line.contains("jobs")).collect();
    assert_eq!(owner.own(), after);
}

#[rstest]
#[case::of_a_table_that_is_not_there(
    "from main.workers",
    "from main.people",
    "agents of the host tasks cannot be read: no such table: main.people"
)]
#[case::without_a_column("t.title,\n", "", "issues.title is missing: expected text")]
#[case::that_is_no_sql("create view agents", "create a view agents", "hosts/tasks/sqlite/0001_work: near \"a\"")]
#[case::that_is_missing(
    "create view host_behavior",
    "create view behavior",
    "host_behavior is missing: what all facts"
)]
fn a_host_with_a_view_that_cannot_be_used_is_refused_and_nothing_is_left_in_the_file(
    #[case] from: &str,
    #[case] to: &str,
    #[case] expected: &str,
) {
    let mut owner = Owner::new("wal");
    let schema = "select type || name from sqlite_master order by 1";
    let before = owner.texts(schema);
    let folder = tempfile::tempdir().expect("a directory");
    for file in ["host.toml", "sqlite/0001_work/up.sql", "sqlite/0001_work/down.sql"] {
        let text = std::fs::read_to_string(format!("{EXAMPLE}/{file}")).expect("a file");
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        std::fs::write(path, text.replacen(from, to, 1)).expect("a file");
    }
    std::fs::create_dir_all(folder.path().join("sqlite_lasting/0000_jobs")).expect("a directory");
    for way in ["up", "down"] {
        let of_example = format!("{EXAMPLE}/sqlite_lasting/0000_wake_jobs/{way}.sql");
        std::fs::copy(of_example, folder.path().join(format!("sqlite_lasting/0000_jobs/{way}.sql"))).expect("a file");
    }
    let directory = folder.path().display().to_string();
    migrate_at(&owner.url, ["--host-dir", &directory]).run().refused(CONFIG, &[expected]);
    assert_eq!(owner.texts(schema), before);
}

#[test]
fn the_sql_that_is_printed_is_the_ledger_alone() {
    let mut owner = Owner::new("wal");
    let printed = migrate_at(&owner.url, ["--host-dir", EXAMPLE, "--print"]).run().done().out;
    assert!(printed.contains("create table sweep_recoveries (") && !printed.contains("\ncreate view"), "{printed}");
    owner.run(&printed);
    assert!(
        migrate_at(&owner.url, []).env("SWEEP_HOST_DIR", EXAMPLE).run().done().out.contains("up to date (host tasks)")
    );
    assert!(sweep_at(&owner.url, []).run().done().out.contains("1 continued"));
}

#[rstest]
#[case("wal")]
#[case("delete")]
fn a_guest_that_leaves_leaves_nothing(#[case] journal: &str) {
    let mut owner = Owner::new(journal);
    let schema = "select type || name || coalesce(sql, '') from sqlite_master order by 1";
    let before = (owner.texts(schema), owner.own());
    migrate_at(&owner.url, ["--host-dir", EXAMPLE]).run().done();
    sweep_at(&owner.url, []).run().done();
    let left = notes_that_are_left(&mut owner, |url| {
        let ran = migrate_at(url, ["--uninstall", "--yes"]).env("SWEEP_HOST_DIR", EXAMPLE).run().done();
        assert!(ran.out.contains("Nothing of the host's own is touched"), "{ran}");
    });
    assert_eq!(left, "before, after");
    assert_eq!((owner.texts(schema), owner.own()), before);
    assert_eq!(owner.texts("select state from jobs where id = 2"), ["queued"], "what was done stays done");
}
