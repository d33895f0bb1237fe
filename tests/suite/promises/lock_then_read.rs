//! P1: what is decided is read after the locks, although both are one statement: what a host commits in between is
//! seen.
//!
//! A gate stands between the statement's snapshot and its locks, and the host queues a wake while the statement waits
//! there.

use std::thread;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use sweep::rules::Id;
use sweep::store::Db;

use crate::support::databases::run;
use crate::support::world::{On, World};

const GATE: &str = "gate as materialized (select pg_advisory_lock(18)::text as is_open)";

fn ask<T>(db: &mut Db, query: &str, read: impl FnOnce(&mut PgConnection, &str) -> QueryResult<T>) -> T {
    match db {
        Db::Postgres(db) => read(db, query).unwrap_or_else(|error| panic!("{error}: {query}")),
        Db::Sqlite(_) => unreachable!("a world on PostgreSQL"),
    }
}

/// Does the reader, which passes the gate after its snapshot, see the wake that was queued meanwhile?
fn sees_the_wake(reads: impl FnOnce(&Id) -> String) -> bool {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let (mut keeper, mut reader) = (world.connect(), world.connect());
    run(&mut keeper, "select pg_advisory_lock(18)");
    let query = reads(&issue);
    thread::scope(|scope| {
        let reading =
            scope.spawn(move || ask(&mut reader, &query, |db, query| sql::<Bool>(query).get_result::<bool>(db)));
        let waits = "select count(*) from pg_locks where locktype = 'advisory' and objid = 18 and not granted \
                     and database = (select oid from pg_database where datname = current_database())";
        while ask(&mut keeper, waits, |db, query| sql::<BigInt>(query).get_result::<i64>(db)) == 0 {
            thread::yield_now();
        }
        world.issue_wake(&issue, &agent, "queued", 0);
        run(&mut keeper, "select pg_advisory_unlock(18)");
        reading.join().expect("a reader")
    })
}

#[test]
fn a_wake_that_is_queued_before_the_locks_is_seen() {
    assert!(sees_the_wake(|issue| {
        format!(
            "with {GATE} select f.held and f.pending_wake_since is not null
             from gate, take_issue(case when is_open is not null then '{issue}'::uuid end) f"
        )
    }));
}

/// The negative control: one query that locks and reads has read what was before the locks, and would double the wake.
#[test]
fn a_wake_that_is_queued_before_the_locks_is_not_seen_by_one_query_that_locks_and_reads() {
    assert!(!sees_the_wake(|issue| {
        format!(
            "with {GATE}, held as materialized (
                 select i.id from gate, issues i
                 where i.id = case when is_open is not null then '{issue}'::uuid end for update of i skip locked)
             select f.pending_wake_since is not null from held join issue_decided_facts f on f.subject_id = held.id"
        )
    }));
}

/// Does the reader, which waits for its lock on the table, see the wake that is queued meanwhile?
fn sees_the_wake_that_came_while_it_waited(function: &str) -> bool {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.run(
        "create function read_then_lock(wanted id) returns setof issue_decided_facts language plpgsql as $$
         declare facts issue_decided_facts;
         begin
             select * into facts from issue_decided_facts f where f.subject_id = wanted;
             perform from issues i where i.id = wanted for update of i skip locked;
             facts.held := found;
             return next facts;
         end $$",
    );
    let (mut keeper, mut reader) = (world.connect(), world.connect());
    // Whoever only reads passes.
    world.run("begin; lock table issues in exclusive mode");
    let query = format!("select held and pending_wake_since is not null from {function}('{issue}')");
    thread::scope(|scope| {
        let reading =
            scope.spawn(move || ask(&mut reader, &query, |db, query| sql::<Bool>(query).get_result::<bool>(db)));
        let waits = "select count(*) from pg_locks where relation = 'issues'::regclass and not granted";
        while ask(&mut keeper, waits, |db, query| sql::<BigInt>(query).get_result::<i64>(db)) == 0 {
            thread::yield_now();
        }
        world.issue_wake(&issue, &agent, "queued", 0);
        world.run("commit");
        reading.join().expect("a reader")
    })
}

#[test]
fn a_wake_that_is_queued_while_the_lock_is_waited_for_is_seen() {
    assert!(sees_the_wake_that_came_while_it_waited("take_issue"));
}

/// The negative control: who reads before the lock has read what was before it.
#[test]
fn a_wake_that_is_queued_while_the_lock_is_waited_for_is_not_seen_by_who_reads_first() {
    assert!(!sees_the_wake_that_came_while_it_waited("read_then_lock"));
}
