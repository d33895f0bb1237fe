//! A host in a folder: what a team writes for its own tables is installed, swept, upgraded and held to the contract,
//! and nothing of it is built in.

use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::Text;
use rstest::rstest;
use sweep::store::Db;

use crate::support::folder::{Folder, example};
use crate::support::program::{command_at, migrate_at, sweep_at};
use crate::support::scratch::{Role, Scratch};

const CONFIG: i32 = 78;

const UP: &str = "postgres/0001_work/up.sql";

/// The team's tables, with one task for each thing that can be with a task.
fn tasks() -> Scratch {
    let database = Scratch::empty();
    database.run(&std::fs::read_to_string(example("tables.sql")).expect("the tables"));
    database.run(
        "insert into workers (name, enabled) values ('Ada', true), ('Bob', false);
         insert into tasks (title, state, worker_id, changed_at)
         select title, state, worker, now() - interval '1 hour' from (values
             ('nobody is on it', 'doing', 1), ('its job is running', 'doing', 1), ('its job waits', 'doing', 1),
             ('its worker is off', 'doing', 2), ('open', 'open', 1)) task (title, state, worker);
         insert into jobs (task_id, worker_id, state, queued_at, ended_at) values
             (1, 1, 'failed', now() - interval '1 hour', now() - interval '50 minutes'),
             (2, 1, 'running', now() - interval '1 hour', null),
             (3, 1, 'queued', now() - interval '10 seconds', null);
         analyze",
    );
    database
}

fn texts(database: &Scratch, query: &str) -> Vec<String> {
    match &mut database.connect() {
        Db::Postgres(db) => sql::<Text>(query).load(db).unwrap_or_else(|error| panic!("{error}: {query}")),
        Db::Sqlite(_) => unreachable!("a URL of PostgreSQL"),
    }
}

#[test]
fn a_teams_own_tasks_are_continued_and_escalated_and_no_sweep_needs_the_folder() {
    let database = tasks();
    let folder = Folder::new();
    let before = database.catalog_of_host();
    let ran = folder.migrate(&database).done();
    assert!(ran.out.starts_with("Migrated (host tasks):\n"), "{ran}");
    drop(folder);
    assert_eq!(database.catalog_of_host(), before);

    let swept =
        sweep_at(&database.url, ["--output", "json", "--set", "host_url=http://team.example"]).run().done().json();
    assert_eq!((&swept["host"], &swept["kinds"]["issues"]["continued"]), (&"tasks".into(), &1.into()), "{swept:#}");
    let mut subjects = swept["subjects"].as_array().expect("subjects").iter();
    let continued = subjects.find(|subject| subject["outcome"] == "continued").expect("one that was continued");
    assert_eq!(continued["url"], "http://team.example/tasks/1");
    let jobs = "select task_id || ' ' || state from jobs where id > 3";
    assert_eq!(texts(&database, jobs), ["1 queued"]);
    assert_eq!(database.catalog_of_host(), before);
    // It waits for its worker, and is a stuck wake later.
    sweep_at(&database.url, []).run().done();
    assert_eq!(texts(&database, jobs), ["1 queued"]);
    let explained = command_at(&database.url, ["explain", "issue", "t1"]).run().done();
    assert!(explained.out.contains("nobody is on it") && explained.out.contains("Ada"), "{explained}");

    // The continuation fails as well.
    database.run(
        "update jobs
         set state = 'failed', queued_at = now() - interval '20 minutes', ended_at = now() - interval '19 minutes'
         where id = 4;
         update sweep.recoveries set created_at = now() - interval '20 minutes'",
    );
    sweep_at(&database.url, []).run().done();
    let states = texts(&database, "select state || ': ' || note from tasks where id = 1");
    assert!(states[0].starts_with("stuck: ") && states[0].contains("set the task to open"), "{states:?}");
    assert_eq!(texts(&database, jobs), ["1 failed"]);
    let status = command_at(&database.url, ["status", "--output", "json"]).run().done().json();
    assert_eq!(status["host"], "tasks");
}

#[test]
fn a_view_of_several_tables_is_updated_by_its_trigger_alone() {
    let database = tasks();
    let folder = Folder::new();
    folder.replace(UP, "from public.tasks t;", "from public.tasks t, lateral (select t.id) of_it;");
    folder.migrate(&database).done();
    let swept = sweep_at(&database.url, ["--set", "attempts_max=0", "--output", "json"]).run().done().json();
    assert_eq!(swept["kinds"]["issues"]["escalated"], 1, "{swept:#}");
}

/// Nothing says that a view's trigger writes what it is given.
#[rstest]
#[case::a_wake("new.reason);\n    return new;", "new.reason);\n    return null;", "wakes")]
#[case::a_comment(
    "new.issue_id;\n    return case when found then new end;",
    "new.issue_id;\n    return null;",
    "comments"
)]
fn what_a_trigger_did_not_write_is_not_recorded_as_done(#[case] from: &str, #[case] to: &str, #[case] relation: &str) {
    let database = tasks();
    let folder = Folder::new();
    folder.replace(UP, from, to);
    folder.migrate(&database).done();
    let attempts_max = if relation == "wakes" { "1" } else { "0" };

    let swept = sweep_at(&database.url, ["--set", &format!("attempts_max={attempts_max}")]).run();

    assert_eq!(swept.code, 1, "{swept}");
    let why = format!("the host's {relation} took no row: its trigger wrote nothing");
    assert!(swept.out.contains(&why), "{swept}");
    assert_eq!(texts(&database, "select count(*)::text from sweep.recoveries"), ["0"]);
    assert_eq!(texts(&database, "select count(*)::text from jobs where id > 3"), ["0"]);
}

/// The second case is the negative control: whatever its view does not name is not looked at.
#[rstest]
#[case("i.status = 'in_progress'", 1)]
#[case("false", 0)]
fn what_a_host_brings_is_not_derived(#[case] is_open: &str, #[case] continued: i64) {
    let (database, folder) = (tasks(), Folder::new());
    let view = format!("create view open_issues as select i.* from issues i where {is_open};\n");
    folder.write("postgres/0002_open/up.sql", &view);
    folder.write("postgres/0002_open/down.sql", "drop view open_issues;\n");
    folder.migrate(&database).done();
    let swept = sweep_at(&database.url, ["--output", "json"]).run().done().json();
    assert_eq!(swept["kinds"]["issues"]["continued"], continued, "{swept:#}");
}

#[test]
fn two_sweeps_at_once_queue_one_job() {
    let database = tasks();
    Folder::new().migrate(&database).done();
    let mut programs = [(); 4].map(|()| sweep_at(&database.url, []));
    let started = programs.each_mut().map(|program| program.start());
    for child in started {
        child.wait_with_output().expect("an end");
    }
    sweep_at(&database.url, []).run().done();
    assert_eq!(texts(&database, "select count(*)::text from jobs where id > 3"), ["1"]);
}

#[test]
fn the_roles_of_the_deployment_are_enough_for_a_host_that_nobody_knows() {
    let database = tasks();
    Folder::new().migrate(&database).done();
    let role = Role::new();
    database.run(&format!(
        "grant usage on schema sweep to {0}; grant select on all tables in schema sweep to {0};
         grant execute on all functions in schema sweep to {0}",
        role.name
    ));
    let looked = sweep_at(&role.at(&database.url), ["--dry-run"]).run().done();
    assert!(looked.out.contains("t1"), "{looked}");
}

#[rstest]
#[case::no_view(
    "create view host_behavior as", "create view behavior_of_host as", "host_behavior is missing: what all"
)]
#[case::no_column("t.title,\n", "", "issues.title is missing: expected text")]
#[case::a_wrong_type(
    "1::float8",
    "'1'::text",
    "host_behavior.run_end_grace_seconds is text: expected double precision"
)]
#[case::a_time_without_a_zone(
    "j.ended_at as",
    "j.ended_at::timestamp as",
    "runs.finished_at is timestamp without time zone"
)]
#[case::an_id_of_another_type("select t.id,", "select t.id::text as id,", "issues.id is text: expected bigint")]
#[case::no_trigger_to_insert(
    "create trigger insert_wake instead of insert on wakes for each row execute function insert_wake();",
    "",
    "wakes takes no INSERT: expected a table, or a view with an INSTEAD OF trigger"
)]
#[case::no_trigger_to_update(
    "create trigger update_issue instead of update on issues for each row execute function update_issue();",
    "",
    "issues.status takes no UPDATE: expected"
)]
fn a_host_that_is_not_as_expected_is_refused_with_the_relation_and_the_column(
    #[case] from: &str,
    #[case] to: &str,
    #[case] expected: &str,
) {
    let database = tasks();
    let before = database.catalog();
    let folder = Folder::new();
    folder.replace(UP, from, to);
    folder.migrate(&database).refused(CONFIG, &["the host tasks is not as docs/host-reference.md describes", expected]);
    assert_eq!(database.catalog(), before);
}

#[rstest]
#[case::sql_that_fails(
    UP,
    "from public.workers",
    "from public.people",
    "hosts/tasks/postgres/0001_work: relation \"public.people\""
)]
#[case::a_name_that_is_built_in("host.toml", "\"tasks\"", "\"paperclip\"", "a host of this name is built in")]
#[case::a_word_that_nobody_knows("host.toml", "id =", "key =", "host.toml: line 3: key = \"bigint\": key is not known")]
#[case::no_tables("host.toml", "workers = []\ntasks = []\njobs = []\n", "", "recognition.tables has \"workers\"")]
#[case::a_table_that_is_not_there("host.toml", "jobs = []", "jobs = []\nrobots = []", "it lacks robots")]
#[case::a_column_that_is_not_there("host.toml", "jobs = []", "jobs = ['colour']", "it lacks jobs.colour")]
fn a_mistake_in_a_folder_is_said_with_its_file_and_nothing_is_changed(
    #[case] file: &str,
    #[case] from: &str,
    #[case] to: &str,
    #[case] expected: &str,
) {
    let database = tasks();
    let before = database.catalog();
    let folder = Folder::new();
    folder.replace(file, from, to);
    folder.migrate(&database).refused(CONFIG, &[expected]);
    assert_eq!(database.catalog(), before);
}

#[test]
fn a_folder_that_is_none_is_refused() {
    let database = tasks();
    let folder = Folder::new();
    std::fs::remove_file(folder.path().join("postgres/0001_work/down.sql")).expect("a file");
    folder.migrate(&database).refused(CONFIG, &["postgres/0001_work/down.sql: No such file"]);
    std::fs::remove_dir_all(folder.path().join("postgres")).expect("a folder");
    folder.migrate(&database).refused(CONFIG, &["there are no migrations: expected some in postgres/"]);
    std::fs::remove_file(folder.path().join("host.toml")).expect("a file");
    folder.migrate(&database).refused(CONFIG, &["host.toml: No such file"]);
    let folder = Folder::new();
    for (name, expected) in
        [("work", "a name like 0001_work"), ("0001_more", "has the number of"), ("20261124001001_x", "sweep's own")]
    {
        let more = format!("postgres/{name}/");
        folder.write(&format!("{more}up.sql"), "");
        folder.write(&format!("{more}down.sql"), "");
        folder.migrate(&database).refused(CONFIG, &[expected]);
        std::fs::remove_dir_all(folder.path().join(more)).expect("a folder");
    }
}

#[test]
fn a_host_is_changed_by_a_migration_more_and_what_has_run_stays_as_it_was() {
    let database = tasks();
    let folder = Folder::new();
    folder.migrate(&database).done();
    assert!(folder.migrate(&database).done().out.contains("up to date (host tasks)"));
    assert!(migrate_at(&database.url, []).run().done().out.contains("up to date (host tasks)"));
    migrate_at(&database.url, ["--host", "native"]).run().refused(CONFIG, &["host is tasks, and not native"]);

    folder.replace(UP, "'set the task to open'", "'open it'");
    let before = database.catalog();
    folder
        .migrate(&database)
        .refused(CONFIG, &["hosts/tasks/postgres/0001_work has run in this database and is another"]);
    assert_eq!(database.catalog(), before);

    folder.replace(UP, "'open it'", "'set the task to open'");
    let advice = "select 1::float8 as run_end_grace_seconds, 'open it' as resume_advice";
    folder.write("postgres/0002_advice/up.sql", &format!("create or replace view host_behavior as {advice};\n"));
    folder.write("postgres/0002_advice/down.sql", "select 1;\n");
    assert!(folder.migrate(&database).done().out.contains("\n  hosts/tasks/postgres/0002_advice\n"));
    sweep_at(&database.url, []).run().done();

    // A new word for people needs no migration.
    folder.replace("host.toml", "\"Our tasks\"", "\"Tasks\"");
    folder.migrate(&database).done();
    assert_eq!(
        texts(&database, "select files ->> 'host.toml' from sweep.host")[0].lines().nth(1),
        Some("title = \"Tasks\"")
    );
}

#[test]
fn the_sql_that_is_printed_installs_it_as_well() {
    let (database, by_sweep) = (tasks(), tasks());
    let folder = Folder::new();
    let path = folder.path().display().to_string();
    let printed = migrate_at(&database.url, ["--host-dir", &path, "--print"]).run().done().out;
    database.run(&printed);
    folder.migrate(&by_sweep).done();
    assert_eq!(database.catalog(), by_sweep.catalog());
    assert!(folder.migrate(&database).done().out.contains("up to date (host tasks)"));
    sweep_at(&database.url, []).run().done();
}

#[test]
fn a_host_for_one_database_is_refused_on_the_other() {
    let folder = Folder::new();
    let (_directory, _, url) = crate::support::scratch::new_file();
    let path = folder.path().display().to_string();
    migrate_at(&url, ["--host-dir", &path]).run().refused(CONFIG, &["the host tasks has no migrations for SQLite"]);
}
