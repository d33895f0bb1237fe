//! A database is recognised as its host's, and nothing of the host's is touched.

use diesel::connection::SimpleConnection;
use diesel::prelude::*;

use super::*;

#[rstest]
#[case::native(Scratch::empty(), "host native")]
#[case::paperclip(Scratch::paperclip(), "host paperclip")]
fn a_host_is_recognised_and_nothing_outside_of_our_schema_changes(#[case] database: Scratch, #[case] host: &str) {
    let before = database.catalog_of_host();
    let ran = migrate_at(&database.url, []).run().done();
    assert!(ran.out.contains(host), "{ran}");
    assert_eq!(database.catalog_of_host(), before);
    let said = sweep_at(&database.url, []).run().done();
    assert!(said.out.contains(host.trim_start_matches("host ")), "{said}");
    assert_eq!(database.catalog_of_host(), before);
}

#[test]
fn a_database_with_unknown_tables_is_refused_until_the_operator_says_native() {
    let database = Scratch::empty();
    database.run("create table orders (id int); create table clients (id int)");
    let before = database.catalog();

    let ran = migrate_at(&database.url, []).run();
    ran.refused(
        CONFIG,
        &["has 2 tables", "lacks Paperclip's companies", "heartbeat_runs", "`sweep migrate --host native`"],
    );
    assert_eq!(database.catalog(), before);
    let lonely = Scratch::empty();
    lonely.run("create table orders (id int)");
    migrate_at(&lonely.url, []).run().refused(CONFIG, &["has 1 table, "]);

    migrate_at(&database.url, ["--host", "native"]).run().done();
    assert_eq!(database.catalog_of_host(), before);
    sweep_at(&database.url, []).run().done();
    let again = migrate_at(&database.url, []).run().done();
    assert!(again.out.contains("up to date (host native)"), "{again}");
}

#[test]
fn what_is_called_paperclips_must_have_its_tables() {
    let database = Scratch::empty();
    let before = database.catalog();
    for arguments in [vec!["--host", "paperclip"], vec!["--host", "paperclip", "--print"]] {
        let ran = migrate_at(&database.url, arguments).run();
        ran.refused(
            CONFIG,
            &["is not Paperclip's", "lacks the tables activity_log, agent_wakeup_requests and 15 more"],
        );
    }
    assert_eq!(database.catalog(), before);
}

/// What its server makes of all that sweep writes is played by tests/hosts.
#[test]
fn a_prefect_is_recognised_on_both_databases_and_one_that_is_too_old_is_refused() {
    let tables = ["flow_run", "flow_run_state", "deployment", "work_pool", "events"];
    let tables = tables.map(|table| format!("create table {table} (id int);")).concat();
    let (postgres, (_directory, file, url)) = (Scratch::empty(), new_file());
    postgres.run(&tables);
    let mut owner = SqliteConnection::establish(&file.display().to_string()).expect("a file");
    owner.batch_execute(&tables).expect("the tables");
    for url in [&postgres.url, &url] {
        let ran = migrate_at(url, []).run();
        ran.refused(CONFIG, &["this Prefect is older than 3.8.0", "it lacks artifact, flow, flow_run_input, "]);
    }
}

#[test]
fn a_paperclip_without_a_column_that_is_read_is_refused_by_its_name_and_nothing_is_left_behind() {
    let database = Scratch::paperclip();
    database.run("alter table issues drop column execution_run_id cascade");
    let before = database.catalog();

    let ran = migrate_at(&database.url, []).run();

    ran.refused(CONFIG, &["nothing was changed", "execution_run_id does not exist"]);
    assert_eq!(database.catalog(), before);
}

#[rstest]
#[case(Scratch::empty(), "paperclip", "native")]
#[case(Scratch::paperclip(), "native", "paperclip")]
fn a_host_that_contradicts_the_schema_is_refused(#[case] database: Scratch, #[case] wanted: &str, #[case] found: &str) {
    migrate_at(&database.url, []).run().done();
    let ran = migrate_at(&database.url, ["--host", wanted]).run();
    ran.refused(CONFIG, &[&format!("host is {found}, and not {wanted}")]);
}

#[test]
fn a_sqlite_file_is_nobodys_but_ours() {
    let (_directory, _, url) = new_file();
    let ran = migrate_at(&url, ["--host", "paperclip"]).run();
    ran.refused(CONFIG, &["the host paperclip has no migrations for SQLite"]);
}

#[test]
fn a_role_that_may_not_create_a_schema_is_refused() {
    let role = Role::new();
    let database = Scratch::empty();
    let ran = migrate_at(&role.at(&database.url), []).run();
    ran.refused(CONFIG, &["cannot create the schema sweep: permission denied for database sweep_test_scratch_"]);
}

/// What versions before the first release recorded. None is newer than the program.
const DIARY: [&str; 3] = ["20261121000100", "20261121000200", "20261122000209"];
const SCHEMA: [&str; 2] = ["20261122001001", "20261122001101"];

#[rstest]
#[case::of_a_diary(&DIARY)]
#[case::whose_boards_repeated_the_rules(&SCHEMA)]
fn a_schema_of_a_version_that_was_never_released_is_refused_with_the_way_to_begin_anew(#[case] versions: &[&str]) {
    let unreleased = format!(
        "create table __diesel_schema_migrations (version varchar(50) primary key, run_on timestamp);
         insert into __diesel_schema_migrations (version) values ('{}')",
        versions.join("'), ('")
    );
    let database = Scratch::empty();
    database.run(&format!("create schema sweep; set search_path = sweep; {unreleased}"));
    let (_directory, path, file) = new_file();
    crate::support::databases::run(&mut connect(&file), &unreleased);
    let path = path.display().to_string();
    for (url, named, anew) in [
        (&database.url, database.name(), "run `drop schema sweep cascade`, then `sweep migrate`"),
        (&file, &path, "move the file away, then run `sweep migrate`"),
    ] {
        for program in
            [sweep_at(url, []), sweep_at(url, ["--dry-run"]), migrate_at(url, []), migrate_at(url, ["--print"])]
        {
            program.run().refused(CONFIG, &[named, "was made by a version of sweep that was never released", anew]);
        }
    }

    database.run("drop schema sweep cascade");
    migrate_at(&database.url, []).run().done();
    std::fs::rename(&path, format!("{path}.old")).expect("the file");
    migrate_at(&file, []).run().done();
}
