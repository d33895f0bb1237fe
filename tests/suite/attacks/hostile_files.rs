//! A SQLite file that somebody else has written: sweep never runs SQL that stands in it, and what SQLite itself runs,
//! its triggers and views, reaches nothing but the file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use rstest::rstest;
use tempfile::TempDir;

use crate::hosts::guest_files::Owner;
use crate::support::databases::{connect, run};
use crate::support::mcp::Client;
use crate::support::program::{BINARY, Program, command_at, migrate_at, sweep, sweep_at};
use crate::support::scratch::new_file;

const CONFIG: i32 = 78;
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/host");

/// Makes a file whose record of its host begins with SQL that changes one file and makes another.
fn with_sql_in_its_record() -> (Owner, Prey) {
    let mut owner = Owner::with_sweep("wal");
    let prey = Prey::beside(&owner.path);
    let evil = prey.sql().replace('\'', "''");
    owner.run(&format!(
        "update sweep_host set files = json_set(files, '$.\"sqlite/0001_work/up.sql\"',
             '{evil};' || json_extract(files, '$.\"sqlite/0001_work/up.sql\"'))"
    ));
    (owner, prey)
}

/// What must stay as it is: a database, and a file that does not exist.
struct Prey {
    database: PathBuf,
    made: PathBuf,
    before: Vec<u8>,
}

impl Prey {
    fn beside(path: &Path) -> Prey {
        let [database, made] = ["prey.db", "made.db"].map(|name| path.with_file_name(name));
        let mut db = SqliteConnection::establish(&database.display().to_string()).expect("a file");
        db.batch_execute("create table t (x)").expect("a table");
        let before = std::fs::read(&database).expect("a file");
        Prey { database, made, before }
    }

    fn sql(&self) -> String {
        let Prey { database, made, .. } = self;
        format!(
            "attach '{}' as prey; create table prey.evil (x); detach prey; vacuum into '{}'",
            database.display(),
            made.display()
        )
    }

    #[track_caller]
    fn is_untouched(&self) {
        assert!(std::fs::read(&self.database).expect("a file") == self.before, "the other database was changed");
        assert!(!self.made.exists(), "a file was made");
    }
}

#[rstest]
#[case(&["status"])]
#[case(&["attention"])]
#[case(&["explain", "issue", "t1"])]
#[case(&["exempt", "add", "issue", "t1", "--reason", "r"])]
#[case(&["wake", "t1"])]
#[case(&["migrate"])]
#[case(&["migrate", "--print"])]
#[case(&["migrate", "--uninstall", "--print"])]
#[case(&["migrate", "--uninstall", "--yes"])]
fn sql_that_stands_in_a_file_is_not_run_and_what_to_set_is_said(#[case] command: &[&str]) {
    let (mut owner, prey) = with_sql_in_its_record();
    let before = owner.texts("select name from sqlite_master order by 1");
    let says = ["the host tasks is not built in", "set SWEEP_HOST_DIR to the folder of this host"];
    command_at(&owner.url, command.iter().copied()).run().refused(CONFIG, &says);
    prey.is_untouched();
    assert_eq!(owner.texts("select name from sqlite_master order by 1"), before);
}

#[test]
fn sql_that_stands_in_a_file_is_run_by_no_sweep_no_agent_and_no_completion() {
    let (owner, prey) = with_sql_in_its_record();
    for flags in [["--yes"].as_slice(), &["--dry-run"]] {
        sweep_at(&owner.url, flags.iter().copied()).run().refused(CONFIG, &["the host tasks is not built in"]);
    }
    let answer = Client::start_read_only(&owner.url)
        .ask("tools/call", serde_json::json!({ "name": "list_attention", "arguments": {} }));
    assert!(answer.to_string().contains("the host tasks is not built in"), "{answer}");
    let completion = sweep(["--", "sweep", "explain", "issue", ""]).env("DATABASE_URL", &owner.url);
    completion.env("SWEEP_COMPLETE", "bash").env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_INDEX", "3").run().done();
    prey.is_untouched();
}

/// The file has more SQL than the folder that the operator names.
#[test]
fn the_folder_that_is_named_must_have_the_very_sql_that_the_file_has() {
    let (owner, prey) = with_sql_in_its_record();
    let ran = sweep_at(&owner.url, []).env("SWEEP_HOST_DIR", EXAMPLE).run();
    ran.refused(CONFIG, &["is not the one in the folder that was named", "run `sweep migrate --host-dir` with it"]);
    prey.is_untouched();
    sweep_at(&owner.url, []).env("SWEEP_HOST_DIR", "/nowhere").run().refused(CONFIG, &["SWEEP_HOST_DIR", "/nowhere"]);
    let says = format!("set SWEEP_HOST_DIR={EXAMPLE}");
    assert!(migrate_at(&owner.url, ["--host-dir", EXAMPLE]).run().done().out.contains(&says));
    sweep_at(&owner.url, []).env("SWEEP_HOST_DIR", EXAMPLE).run().done();
}

/// SQLite runs these by itself.
#[rstest]
#[case::a_trigger("create trigger evil after insert on sweeps begin select load_extension('/tmp/evil'); end")]
#[case::a_view(
    "alter table policy rename to real;
     create view policy as select real.* from real where load_extension('/tmp/evil') is null"
)]
fn what_sqlite_runs_of_a_file_is_held_to_the_file(#[case] evil: &str) {
    let (_directory, _, url) = new_file();
    migrate_at(&url, []).run().done();
    run(&mut connect(&url), evil);
    let ran = sweep_at(&url, []).run();
    assert_eq!(ran.code, CONFIG, "{ran}");
    assert!(ran.err.contains("a trigger or a view of this file wants more than sweep lets a file do"), "{ran}");
}

/// In another program's file, the view of a ledger's table fills in defaults that a statement leaves out.
#[rstest]
#[case::a_function("evil text default (load_extension('/tmp/evil'))")]
#[case::a_comment_before_a_name_that_goes_on(
    "evil text default (1 --\n), \"\n) ; delete from main.tasks; insert into t values (1\" text"
)]
fn a_default_of_a_table_in_the_file_is_not_run(#[case] column: &str) {
    let mut owner = Owner::with_sweep("wal");
    let made = owner.texts("select sql from sqlite_master where name = 'sweep_sweeps'")[0].clone();
    let made = made.replacen('(', &format!("({column}, "), 1);
    owner.run(&format!(
        "pragma writable_schema = on; update sqlite_master set sql = '{}' where name = 'sweep_sweeps'",
        made.replace('\'', "''")
    ));
    sweep_at(&owner.url, []).env("SWEEP_HOST_DIR", EXAMPLE).run().done();
    assert_eq!(owner.texts("select count(*) || '' from tasks"), ["2"]);
}

/// Makes two files of sweep's own, each with its directory, path and URL.
fn two_files() -> [(TempDir, PathBuf, String); 2] {
    let files = [new_file(), new_file()];
    files.iter().for_each(|(_, _, url)| drop(migrate_at(url, []).run().done()));
    files
}

/// A view that never ends costs its own file's time, and no other's.
#[test]
fn a_view_that_never_ends_is_interrupted_and_the_next_file_is_swept() {
    let [(_first, path, url), (_second, _, other)] = two_files();
    run(
        &mut connect(&url),
        "insert into issues (id, title, status) values ('00000000-0000-4000-8000-000000000001', 'x', 'todo');
         drop view issue_candidates;
         create view issue_candidates as with recursive n (i) as (select 1 union all select i + 1 from n)
         select i as subject_id, i as group_id, i as tenant, '2020-01-01T00:00:00.000Z' as since from n where i < 0",
    );
    let began = Instant::now();
    let both = sweep(["--database", &url, "--database", &other, "--set", "statement_timeout=500ms"]).run();
    assert!(began.elapsed() < Duration::from_secs(20), "{both}");
    assert!(
        both.out.contains("it took longer than SWEEP_STATEMENT_TIMEOUT allows")
            && both.out.contains(&path.display().to_string()),
        "{both}"
    );
    assert_eq!(both.code, 69, "{both}");
}

/// SQLite follows a view of views on the stack, and merges expressions that look up one another.
#[rstest]
#[case::a_chain("x", 6000)]
#[case::deep_expressions("x+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1", 300)]
fn views_of_views_cost_their_own_file_alone(#[case] expression: &str, #[case] views: u32) {
    let [(_first, path, url), (_second, _, other)] = two_files();
    run(
        &mut connect(&url),
        &format!(
            "create table nested (x); create view v0 as select x from nested; pragma writable_schema = on;
             with recursive n (i) as (select 1 union all select i + 1 from n where i < {views})
             insert into sqlite_master (type, name, tbl_name, rootpage, sql)
             select 'view', 'v' || i, 'v' || i, 0,
                    'CREATE VIEW v' || i || ' AS SELECT {expression} AS x FROM v' || (i - 1)
             from n;
             insert into sqlite_master (type, name, tbl_name, rootpage, sql)
             values ('trigger', 'evil', 'sweeps', 0,
                     'CREATE TRIGGER evil BEFORE INSERT ON sweeps BEGIN SELECT x FROM v{views}; END')"
        ),
    );
    let both = sweep(["--database", &url, "--database", &other]).run();
    assert_eq!(both.code, 69, "{both}");
    let said = format!("{}{}", both.out, both.err);
    assert!(said.contains("out of memory") && said.contains(&path.display().to_string()), "{both}");
    assert!(!command_at(&other, ["status"]).run().done().out.contains("Never swept"), "{both}");
}

/// The memory that the services in `deploy/systemd` give to sweep.
const MEMORY: u32 = 512 << 20;

/// Views that never end, or need more memory than there is.
#[rstest]
#[case::many_rows(
    "with recursive n (i) as (select 1 union all select i + 1 from n)
     select 'issue' as kind, 'x' || i as subject_id, hex(zeroblob(400000)) as reason, null as until,
         '2026-01-01T00:00:00.000Z' as created_at from n",
    "answered with more than 64 MiB"
)]
#[case::one_row(
    "select 'issue' as kind, 'x' as subject_id, substr(max(TEXTS, max(TEXTS), max(TEXTS), max(TEXTS), max(TEXTS)), 9)
         as reason, null as until, '2026-01-01T00:00:00.000Z' as created_at",
    "out of memory"
)]
fn a_view_costs_no_more_memory_than_there_is(#[case] view: &str, #[case] says: &str) {
    let (_directory, _, url) = new_file();
    migrate_at(&url, []).run().done();
    let texts = (0..90).map(|n| format!("hex(zeroblob({}))", 500_000 - n)).collect::<Vec<_>>().join(", ");
    let view = view.replace("TEXTS", &texts);
    run(&mut connect(&url), &format!("alter table exemptions rename to real; create view exemptions as {view}"));
    for command in [&["exempt", "list"][..], &["status"], &["--dry-run"]] {
        let mut limited = Command::new("prlimit");
        limited.arg(format!("--data={MEMORY}")).args(["--", BINARY]).args(command).args(["--database", &url]);
        let limited = Program::from_command(limited).env("PATH", "/usr/bin:/bin").env("SWEEP_STATEMENT_TIMEOUT", "3s");
        let ran = limited.run();
        assert!([0, 69, 78].contains(&ran.code), "{command:?}: {ran}");
        assert!(command[0] != "exempt" || ran.err.contains(says), "{ran}");
    }
}

/// SQLite would wait for a program that writes into the pipe.
#[rstest]
fn a_pipe_beside_the_database_is_refused_at_once(#[values("-journal", "-wal", "-shm")] ending: &str) {
    let (_directory, path, url) = new_file();
    migrate_at(&url, []).run().done();
    let pipe = format!("{}{ending}", path.display());
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    for arguments in [["--yes"].as_slice(), &["--dry-run"], &["migrate"], &["status"]] {
        let mut limited = Command::new("timeout");
        limited.args(["20", BINARY]).args(arguments).args(["--database", &url]);
        let ran = Program::from_command(limited).env("PATH", "/usr/bin:/bin").run();
        ran.refused(CONFIG, &["new.db: ", &format!("{pipe} stands beside it and is no regular file")]);
    }
}

/// The row of such a text is read alone, and fails alone.
#[test]
fn a_text_that_is_too_long_costs_its_own_row_alone() {
    let mut owner = Owner::with_sweep("wal");
    owner.run(
        "insert into tasks (title, state, worker_id, changed_at)
         values (hex(zeroblob(1000000)), 'doing', 1, datetime('now', '-1 hour'))",
    );
    let ran = sweep_at(&owner.url, []).env("SWEEP_HOST_DIR", EXAMPLE).run();
    assert!(ran.out.contains("1 continued") && ran.out.contains("1 failed"), "{ran}");
    assert!(ran.err.contains("sweep reads no text of more than 1 MiB"), "{ran}");
}
