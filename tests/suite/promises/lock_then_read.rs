//! P1: the facts are read after the locks, although one statement does both: a commit of the host in between is seen.
//!
//! A gate stands between the statement's snapshot and its locks. The host queues a wake while the statement waits
//! there.

use std::thread;

use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool};
use sweep::rules::Id;
use sweep::store::Db;

use crate::support::wait::wait_until;
use crate::support::world::{On, World};

/// A barrier at which the reader waits while the host writes.
struct Barrier {
    close: &'static str,
    /// The condition on pg_locks for the lock that the waiting reader has not been granted.
    awaited: &'static str,
    open: &'static str,
}

/// The barrier between a statement's snapshot and its locks.
const GATE: Barrier = Barrier {
    close: "select pg_advisory_lock(18)",
    awaited: "locktype = 'advisory' and objid = 18",
    open: "select pg_advisory_unlock(18)",
};
const PASSES_THE_GATE: &str = "gate as materialized (select pg_advisory_lock(18)::text as is_open)";

/// The barrier before the statement that locks an issue; statements that only read pass.
const TABLE: Barrier = Barrier {
    close: "begin; lock table issues in exclusive mode",
    awaited: "relation = 'issues'::regclass",
    open: "commit",
};

fn ask<T>(db: &mut Db, query: &str, read: impl FnOnce(&mut PgConnection, &str) -> QueryResult<T>) -> T {
    match db {
        Db::Postgres(db) => read(db, query).unwrap_or_else(|error| panic!("{error}: {query}")),
        Db::Sqlite(_) => unreachable!("a world on PostgreSQL"),
    }
}

/// True if the reader, which waits at the barrier, sees the wake that is queued meanwhile.
fn sees_the_wake(barrier: &Barrier, reads: impl FnOnce(&mut World, &Id) -> String) -> bool {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let query = reads(&mut world, &issue);
    sees(world, barrier, query, |world| drop(world.issue_wake(&issue, &agent, "queued", 0)))
}

/// What the query answers that waits at the barrier while the host writes.
fn sees(mut world: World, barrier: &Barrier, query: String, writes: impl FnOnce(&mut World)) -> bool {
    let (mut looker, mut reader) = (world.connect(), world.connect());
    world.run(barrier.close);
    thread::scope(|scope| {
        let reading =
            scope.spawn(move || ask(&mut reader, &query, |db, query| sql::<Bool>(query).get_result::<bool>(db)));
        let waits = format!(
            "select count(*) from pg_locks where {} and not granted
             and database = (select oid from pg_database where datname = current_database())",
            barrier.awaited
        );
        wait_until("a reader at the barrier", || {
            assert!(!reading.is_finished(), "it read without a lock");
            0 < ask(&mut looker, &waits, |db, query| sql::<BigInt>(query).get_result::<i64>(db))
        });
        writes(&mut world);
        world.run(barrier.open);
        reading.join().expect("a reader")
    })
}

#[test]
fn a_wake_that_is_queued_before_the_locks_is_seen() {
    assert!(sees_the_wake(&GATE, |_, issue| {
        format!(
            "with {PASSES_THE_GATE} select f.held and f.pending_wake_since is not null
             from gate, take_issue(case when is_open is not null then '{issue}'::uuid end) f"
        )
    }));
}

#[test]
fn a_sign_of_life_that_comes_before_the_locks_is_seen() {
    let mut world = World::new(On::Postgres);
    let (issue, run) = world.issue_at_work();
    world.set("runs", &run, "lease_seconds = 60");
    let query = format!(
        "with {PASSES_THE_GATE} select f.held and f.has_live_run and f.lost_run is null
         from gate, take_issue(case when is_open is not null then '{issue}'::uuid end) f"
    );
    assert!(sees(world, &GATE, query, |world| world.set("runs", &run, "heartbeat_at = now()")));
}

/// The negative control: one query that locks and reads sees the rows of before the locks, and would double the wake.
#[test]
fn a_wake_that_is_queued_before_the_locks_is_not_seen_by_one_query_that_locks_and_reads() {
    assert!(!sees_the_wake(&GATE, |_, issue| {
        format!(
            "with {PASSES_THE_GATE}, held as materialized (
                 select i.id from gate, issues i
                 where i.id = case when is_open is not null then '{issue}'::uuid end for update of i skip locked)
             select f.pending_wake_since is not null from held join issue_decided_facts f on f.subject_id = held.id"
        )
    }));
}

#[test]
fn a_wake_that_is_queued_while_the_lock_is_waited_for_is_seen() {
    assert!(sees_the_wake(&TABLE, |_, issue| {
        format!("select held and pending_wake_since is not null from take_issue('{issue}')")
    }));
}

/// The negative control: a function that reads before it locks sees the rows of before the lock.
#[test]
fn a_wake_that_is_queued_while_the_lock_is_waited_for_is_not_seen_by_who_reads_first() {
    let read_then_lock = "create function read_then_lock(wanted id) returns boolean language plpgsql as $$
         declare sees_a_wake boolean;
         begin
             select pending_wake_since is not null into sees_a_wake from issue_decided_facts where subject_id = wanted;
             perform from issues i where i.id = wanted for update of i skip locked;
             return found and sees_a_wake;
         end $$";
    assert!(!sees_the_wake(&TABLE, |world, issue| {
        world.run(read_then_lock);
        format!("select read_then_lock('{issue}')")
    }));
}
