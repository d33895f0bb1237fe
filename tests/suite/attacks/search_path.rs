//! Functions and operators that others put where names are looked up: sweep runs none of them.

use std::process::Command;

use rstest::rstest;

use crate::support::daemon::{Daemon, daemon};
use crate::support::databases::{connect, run};
use crate::support::pooler::Pooler;
use crate::support::program::{Ran, command_at, migrate_at, sweep, sweep_at};
use crate::support::scratch::Scratch;
use crate::support::world::{On, World};

const SHADOWS: &str = include_str!("search_path/shadows.sql");

/// The relations by whose names a statement might read the catalog, or the schema `sweep`.
const RELATIONS: [&str; 15] = [
    "pg_class", "pg_namespace", "pg_roles", "pg_trigger", "pg_proc", "pg_auth_members", "pg_depend", "pg_shdepend",
    "pg_inherits", "issues", "sweeps", "recoveries", "issue_facts", "sessions", "__diesel_schema_migrations",
];

/// Makes the shadows in the schema, and has all names looked up there; before PostgreSQL's own, unless it is `public`.
fn shadow(database: &Scratch, schema: &str) {
    let relations: String =
        RELATIONS.map(|name| format!("create view {schema}.{name} as select evil.called() as id;\n")).concat();
    let is_public = schema == "public";
    let path = if is_public { "public" } else { "evil, pg_catalog, public" };
    database.run(&format!(
        "set search_path = pg_catalog; create schema evil; {}; {} alter database {} set search_path = {path}",
        SHADOWS.replace(":schema", schema),
        if is_public { "" } else { &relations },
        database.name()
    ));
    assert_eq!(shadows_run(database), 0);
}

/// How many shadows have run, even in transactions that were rolled back.
fn shadows_run(database: &Scratch) -> i64 {
    let sql = "select case when is_called then last_value else 0 end as count from evil.calls";
    let psql = Command::new("psql")
        .args(["-X", "-At", "-c", sql, &database.url])
        .env("PGOPTIONS", "-c search_path=pg_catalog")
        .output();
    String::from_utf8_lossy(&psql.expect("psql").stdout).trim().parse().expect("a number")
}

const ORPHAN: &str = "
    insert into sweep.agents (id, name) values ('a0000000-0000-4000-8000-000000000001', 'Ada');
    insert into sweep.issues (identifier, title, status, assignee_agent_id, updated_at)
    values ('T-1', 'Mend the fence', 'in_progress', 'a0000000-0000-4000-8000-000000000001', now() - interval '1 day')";

const ORPHAN_OF_PAPERCLIP: &str = "
    insert into public.companies (id, name, issue_prefix, default_responsible_user_id)
    values ('c0000000-0000-4000-8000-000000000001', 'Acme', 'T', 'user-1');
    insert into public.agents (id, company_id, name, status)
    values ('a0000000-0000-4000-8000-000000000001', 'c0000000-0000-4000-8000-000000000001', 'Ada', 'idle');
    insert into public.issues (company_id, identifier, title, status, assignee_agent_id, updated_at)
    values ('c0000000-0000-4000-8000-000000000001', 'T-1', 'Mend the fence', 'in_progress',
            'a0000000-0000-4000-8000-000000000001', now() - interval '1 day')";

/// Adds rows with a path of its own, as the host does: the database's would run the shadows.
fn add(database: &Scratch, sql: &str) {
    run(&mut database.connect(), &format!("set search_path = pg_catalog; {sql}"));
}

#[rstest]
#[case::whoever_owns_the_database_on_native(Scratch::empty(), "evil", ORPHAN)]
#[case::whoever_owns_the_database_on_paperclip(Scratch::paperclip(), "evil", ORPHAN_OF_PAPERCLIP)]
#[case::whoever_may_create_in_public_on_native(Scratch::empty(), "public", ORPHAN)]
#[case::whoever_may_create_in_public_on_paperclip(Scratch::paperclip(), "public", ORPHAN_OF_PAPERCLIP)]
fn no_command_runs_what_somebody_else_put_in_the_path(
    #[case] database: Scratch,
    #[case] schema: &str,
    #[case] orphan: &str,
) {
    let directory = tempfile::tempdir().expect("a directory");
    let plan = directory.path().join("plan.json");
    shadow(&database, schema);
    let url = database.url.as_str();
    let done = |what: &str, ran: Ran| {
        assert_eq!((ran.code, shadows_run(&database)), (0, 0), "{what}: {ran}");
        ran
    };

    done("migrate --print", migrate_at(url, ["--print"]).run());
    done("migrate", migrate_at(url, ["--with-listen"]).run());
    add(&database, orphan);
    std::fs::write(&plan, done("dry run", sweep_at(url, ["--dry-run", "--output", "json"]).run()).out).expect("a plan");
    done("apply", sweep_at(url, ["--apply", plan.to_str().expect("a path")]).run());
    done("sweep", sweep_at(url, []).run());
    for command in [
        &["status"][..],
        &["explain", "issue", "T-1"],
        &["exempt", "add", "issue", "T-1", "--reason", "on purpose"],
        &["exempt", "list"],
        &["exempt", "remove", "issue", "T-1"],
        &["quarantine", "list"],
        &["quarantine", "release", "--all"],
    ] {
        done(&command.join(" "), command_at(url, command.iter().copied()).run());
    }
    if orphan == ORPHAN {
        done("watch", sweep(["watch", "--database", url, "--", "true"]).run());
    }
    let mut daemon = Daemon::start(daemon(url, "* * * * * *", ["--listen", "on"]));
    daemon.says("listening for runs that end");
    daemon.answers("/metrics", 200);
    daemon.says("sweep completed");
    daemon.ends_well();
    assert_eq!(shadows_run(&database), 0, "{}", daemon.log().join("\n"));
}

/// The control: a statement without a path of its own runs the shadows.
#[rstest]
#[case::before_ours("evil", "select length('text'::text)")]
#[case::beside_ours("public", "select 'a'::name || 'b'::name")]
fn a_statement_without_a_path_of_its_own_does(#[case] schema: &str, #[case] statement: &str) {
    let database = Scratch::empty();
    shadow(&database, schema);
    let psql = Command::new("psql").args(["-X", "-c", statement, &database.url]).output().expect("psql");
    assert!(String::from_utf8_lossy(&psql.stderr).contains("shadowed"), "{psql:?}");
    assert!(0 < shadows_run(&database));
}

/// A session's temporary relations are looked up first by default, and behind a transaction pooler the session may be
/// another client's.
#[test]
fn temporary_relations_that_another_client_of_the_pooler_left_are_not_read() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let pooler = Pooler::start(1);
    let url = pooler.url(world.name());
    let relations =
        ["issue_facts", "issue_candidates", "issues", "wakes", "recoveries", "sweeps", "failures", "exemptions"];
    let mut hostile = connect(&url);
    run(&mut hostile, &relations.map(|name| format!("create temporary table {name} (id int);")).concat());
    drop(hostile);

    let pooled =
        |arguments: &[&str]| sweep_at(&url, arguments.iter().copied()).env("SWEEP_CONNECTIONS", "1").run().done();
    let ran = pooled(&[]);

    assert!(ran.out.contains("1 continued"), "{ran}");
    assert_eq!(world.wakes_for(&issue), 1);
}

/// No setting of a sweep outlives its transaction: behind a pooler the next client would have it as well.
#[test]
fn no_path_is_left_to_the_next_client_of_a_pooler() {
    let world = World::new(On::Postgres);
    let pooler = Pooler::start(1);
    let url = pooler.url(world.name());
    let path = || {
        let shown = Command::new("psql").args(["-X", "-At", "-c", "show search_path", &url]).output().expect("psql");
        String::from_utf8_lossy(&shown.stdout).trim().to_owned()
    };
    let before = path();
    sweep_at(&url, []).env("SWEEP_CONNECTIONS", "1").run().done();
    assert_eq!(path(), before);
    assert!(before.contains("public"), "{before}");
}

/// The owner of the database may make transactions read-only by default; a sweep declares that it writes.
#[test]
fn a_database_whose_transactions_are_read_only_by_default_is_swept() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let name = world.name().to_owned();
    world.run(&format!("alter database {name} set default_transaction_read_only = on"));

    assert_eq!(world.sweep().outcome(&issue), "continued");
}

/// sweep reads names of types, and reads and writes numbers, times and texts.
#[test]
fn a_database_that_reads_and_writes_values_in_its_own_way_is_migrated_and_swept() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let [issue, exempted] = [world.orphan(&agent), world.orphan(&agent)];
    let name = world.name().to_owned();
    for setting in [
        "quote_all_identifiers = on", "datestyle = 'SQL, DMY'", "intervalstyle = iso_8601", "bytea_output = escape",
        "extra_float_digits = -15", "array_nulls = off", "transform_null_equals = on", "xmloption = document",
        "standard_conforming_strings = off", "timezone = 'Asia/Kathmandu'", "backslash_quote = off",
    ] {
        world.run(&format!("alter database {name} set {setting}"));
    }
    migrate_at(&world.url, []).run().done();
    command_at(&world.url, ["exempt", "add", "issue", &exempted.0, "--reason", "on purpose"]).run().done();
    for shown in [&["explain", "issue", &issue.0][..], &["status"], &["attention"]] {
        command_at(&world.url, shown.iter().copied()).run().done();
    }
    let swept = world.sweep();
    assert_eq!((swept.outcome(&issue), swept.outcome(&exempted)), ("continued", "waiting"));
}
