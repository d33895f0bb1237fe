//! A host whose tables have hundreds of partitions: a sweep counts the locks of one subject before it begins, and takes
//! no more of the server's than leave the host its half.

use diesel::connection::SimpleConnection;

use crate::support::databases::{connect, run};
use crate::support::folder::{Folder, example};
use crate::support::program::{migrate_at, sweep_at};
use crate::support::server::Server;

const PARTITIONS: u32 = 600;

/// A server with room for so many locks of each of a hundred connections, and a team's tables on it. Two tasks of two
/// workers are stranded.
fn with_partitions(locks: &str) -> Server {
    let server = Server::start_with(&["-c", "max_connections=100", "-c", locks]);
    let mut db = connect(&server.url);
    let tables = std::fs::read_to_string(example("tables.sql")).expect("the tables");
    let partitioned = tables
        .replace(
            "create table jobs (\n    id bigint generated always as identity primary key,",
            "create sequence job_ids;\ncreate table jobs (\n    id bigint not null default nextval('job_ids'),",
        )
        .replace(
            "ended_at timestamptz\n);",
            "ended_at timestamptz,\n    primary key (id, task_id)\n) partition by hash (task_id);",
        );
    assert!(partitioned.contains("partition by"), "{partitioned}");
    run(&mut db, &partitioned);
    // One transaction could not lock them all.
    for n in 0..PARTITIONS {
        let values = format!("with (modulus {PARTITIONS}, remainder {n})");
        run(&mut db, &format!("create table jobs_{n} partition of jobs for values {values}"));
    }
    let stranded = "insert into workers (name) select 'Ada ' || n from generate_series(1, 2) n;
         insert into tasks (title, state, worker_id, changed_at)
         select 'x', 'doing', n, now() - interval '1 hour' from generate_series(1, 2) n";
    run(&mut db, stranded);
    migrate_at(&server.url, ["--host-dir", &Folder::new().path().display().to_string()]).run().done();
    server
}

#[test]
fn a_sweep_takes_so_few_connections_that_the_host_keeps_half_of_the_locks() {
    let server = with_partitions("max_locks_per_transaction=128");
    let sweep = || sweep_at(&server.url, ["--output", "json"]).env("SWEEP_CONNECTIONS", "4").run().done();
    let ran = sweep();
    assert!(ran.err.contains("the server has 12800: sweeping with 1 connections in place of 4"), "{ran}");
    assert_eq!(ran.json()["kinds"]["issues"]["continued"], 2, "{ran}");

    server.crash();
    server.restart_with(&["-c", "max_connections=100", "-c", "max_locks_per_transaction=1024"]);
    let ran = sweep();
    assert!(!ran.err.contains("connections in place of"), "the control: {ran}");
}

#[test]
fn a_server_with_too_few_locks_is_refused_before_anything_is_done() {
    let server = with_partitions("max_locks_per_transaction=64");
    let said = ["this host needs ", " locks for a subject", "the server has 6400", "Set max_locks_per_transaction"];
    sweep_at(&server.url, ["--output", "json"]).run().refused(78, &said);
}

/// Counting takes as many locks as a subject does.
#[test]
fn a_server_without_room_to_count_the_locks_is_refused() {
    let server = with_partitions("max_locks_per_transaction=64");
    let mut other = connect(&server.url);
    let lock = |n: u32| format!("select count(pg_advisory_lock({n}, m)) from generate_series(1, 500) m");
    assert!((0..100).any(|n| other.batch_execute(&lock(n)).is_err()), "the table of locks has no end");
    run(&mut other, "select pg_advisory_unlock(0, m) from generate_series(1, 200) m");
    sweep_at(&server.url, ["--output", "json"])
        .run()
        .refused(78, &["out of shared memory", "set max_locks_per_transaction higher"]);
}
