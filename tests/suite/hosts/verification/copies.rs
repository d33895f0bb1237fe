//! What `sweep host verify` does happens in copies alone: they are private, they are gone afterwards, and where a copy
//! would be something else nothing is tried.

use diesel::RunQueryDsl;
use diesel::dsl::sql;
use diesel::sql_types::BigInt;
use rstest::rstest;
use rustix::process::{Pid, Signal, kill_process};
use sweep::store::Db;

use super::{CONFIG, tables, verify};
use crate::support::databases::{connect_server, server_socket};
use crate::support::folder::example;
use crate::support::pooler::Pooler;
use crate::support::program::command_at;
use crate::support::scratch::{Role, Scratch, hand_over};
use crate::support::wait::wait_for;

#[test]
fn a_verification_that_is_ended_by_a_signal_leaves_no_copy_behind() {
    let (role, database) = (Role::new(), Scratch::empty());
    database.run(&format!("alter role {} createdb", role.name));
    let copies = format!("pg_database d join pg_roles r on r.oid = d.datdba where rolname = '{}'", role.name);
    let url = role.at(&database.url);
    let mut program = command_at(&url, ["host", "verify", "native"]);
    let child = program.start();
    wait_for("two copies", || (1 < count(&copies)).then_some(()));
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a process");
    let ran = program.ended(child.wait_with_output().expect("an end"));
    assert_eq!(ran.code, 143, "{ran}");
    assert!(ran.err.contains("there is no certificate"), "{ran}");
    assert_eq!(count(&copies), 0);
}

fn count(from: &str) -> i64 {
    count_by(&mut connect_server(), from)
}

fn count_by(db: &mut Db, from: &str) -> i64 {
    match db {
        Db::Postgres(db) => sql::<BigInt>(&format!("SELECT count(*) FROM {from}")).get_result(db).expect("a number"),
        Db::Sqlite(_) => unreachable!("a server"),
    }
}

#[test]
fn a_database_that_others_use_is_not_copied() {
    let database = tables();
    let _other = database.connect();
    let ran = verify(&database.url, &["--host-dir", &example("").display().to_string()]);
    ran.refused(75, &["cannot be copied while others are connected to it"]);
}

/// To this pooler every database is the same one.
#[test]
fn a_pooler_that_leads_to_another_database_is_refused_before_anything_is_tried() {
    for host in [["native"].as_slice(), &["--host-dir", &example("").display().to_string()]] {
        let database = tables();
        database.run("insert into tasks (title) values ('Mend the fence')");
        hand_over(&database.url);
        let before = database.catalog();
        let (server, port) = server_socket();
        let pooler = Pooler::start_with(&format!(
            "[databases]\n* = host={server} port={port} user=sweep_test_host password=secret dbname={}",
            database.name()
        ));
        let verify = [&["host", "verify"], host].concat();
        command_at(&pooler.url("work"), verify)
            .run()
            .refused(CONFIG, &["reached the database", database.name(), "nothing was tried"]);
        assert_eq!(database.catalog(), before);
        assert_eq!(count_by(&mut database.connect(), "tasks"), 1);
    }
}

#[rstest]
#[case::a_table("create foreign table tasks (id bigint) server elsewhere")]
#[case::a_part_of_a_table(
    "create table tasks (id bigint) partition by list (id);
     create foreign table part partition of tasks default server elsewhere"
)]
#[case::a_view("create view tasks as select 1 as id")]
fn what_is_no_table_of_the_database_itself_is_refused(#[case] tasks: &str) {
    let database = tables();
    database.run(&format!(
        "create foreign data wrapper nothing; create server elsewhere foreign data wrapper nothing;
         drop table jobs, tasks; create table jobs (id int); {tasks}"
    ));
    let ran = verify(&database.url, &["--host-dir", &example("").display().to_string()]);
    ran.refused(CONFIG, &["expected tables of this database alone"]);
}

#[test]
fn copies_are_closed_to_everybody_else() {
    let (role, database) = (Role::new(), Scratch::empty());
    database.run(&format!("alter role {} createdb", role.name));
    let url = role.at(&database.url);
    let mut program = command_at(&url, ["host", "verify", "native"]);
    let child = program.start();
    let mine = format!("pg_database d join pg_roles r on r.oid = datdba where rolname = '{}'", role.name);
    wait_for("a copy", || (0 < count(&mine)).then_some(()));
    // A role that may connect to any database may connect to none of the copies, at any moment.
    let open = format!("{mine} and datallowconn and has_database_privilege('pg_monitor', d.oid, 'connect')");
    let seen = (0..50).map(|_| count(&open)).max();
    kill_process(Pid::from_child(&child), Signal::TERM).expect("a process");
    program.ended(child.wait_with_output().expect("an end"));
    assert_eq!(seen, Some(0));
}
