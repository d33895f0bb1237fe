//! A PgBouncer in transaction mode between the sweep and its server; Debian's does not know prepared statements.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::BigInt;

use super::UNAVAILABLE;
use crate::support::daemon::Daemon;
use crate::support::databases::connect;
use crate::support::pooler::Pooler;
use crate::support::program::{Program, migrate_at, sweep, sweep_at};
use crate::support::scratch::Scratch;
use crate::support::world::{On, World};

fn through<'a>(url: &'a str, arguments: &[&'a str]) -> Program {
    sweep_at(url, [&["--output", "json"], arguments].concat())
}

#[test]
fn everything_works_through_a_pooler_as_without_one() {
    let (direct, scratch) = (Scratch::empty(), Scratch::empty());
    migrate_at(&direct.url, []).run().done();
    let pooler = Pooler::start(1);
    let url = pooler.url(scratch.name());
    let printed = migrate_at(&url, ["--print"]).run().done().out;
    assert_eq!(printed, migrate_at(&Scratch::empty().url, ["--print"]).run().done().out);
    migrate_at(&url, []).run().done();
    assert_eq!(scratch.catalog(), direct.catalog());

    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let (_, step) = world.stalled_step(None);
    let url = pooler.url(world.name());
    let dry = through(&url, &["--dry-run"]).run().done().json();
    assert_eq!(world.count("recoveries"), 0);
    assert_eq!(dry["kinds"]["issues"]["continued"], 1);
    let swept = through(&url, &[]).run().done().json();
    assert_eq!(swept["kinds"]["issues"]["continued"], 1);
    assert_eq!(swept["kinds"]["steps"]["escalated"], 1);
    let again = through(&url, &[]).run().done().json();
    assert_eq!(again["kinds"]["issues"]["continued"], 0);
    world.end_continuations("failed");
    world.pass(10);
    through(&url, &[]).run().done();
    assert_eq!((world.wakes_for(&issue), world.comments_on(&issue), world.wakes_for(&step)), (1, 1, 0));
}

/// Other clients of the pool, which leave nothing in it as they found it.
struct Load {
    process: Child,
    _script: tempfile::NamedTempFile,
}

impl Load {
    fn start(url: &str) -> Load {
        let script = tempfile::NamedTempFile::new().expect("a file");
        let statements =
            "set time zone 'Asia/Tokyo';\nbegin;\nset local search_path = public;\nselect now();\ncommit;\n";
        std::fs::write(script.path(), statements).expect("a file");
        let mut command = Command::new("pgbench");
        command.args(["-n", "-c", "4", "-T", "300", "-f"]).arg(script.path()).arg(url);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("pgbench");
        Load { process, _script: script }
    }

    /// Stops the load; true if it was at work until now.
    fn stop(mut self) -> bool {
        let runs = self.process.try_wait().expect("a process").is_none();
        let _ = (self.process.kill(), self.process.wait());
        runs
    }
}

#[test]
fn several_sweeps_share_two_connections_with_others_and_each_issue_gets_one_wake() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.run("begin");
    for _ in 0..200 {
        world.orphan(&agent);
    }
    world.run("commit");
    let pooler = Pooler::start(2);
    let url = pooler.url(world.name());
    let load = Load::start(&url);

    for round in 0..3 {
        let mut programs: Vec<Program> = (0..3).map(|_| through(&url, &["--set", "connections=4"])).collect();
        let started: Vec<Child> = programs.iter_mut().map(Program::start).collect();
        for (program, child) in programs.into_iter().zip(started) {
            let ran = program.ended(child.wait_with_output().expect("an end"));
            let json = ran.json();
            assert!([0, super::BUSY].contains(&ran.code), "{ran}");
            assert_eq!(
                (json["ended"].as_str(), json["kinds"]["issues"]["failed"].as_i64()),
                (Some("completed"), Some(0))
            );
        }
        assert_eq!((world.count("wakes"), world.count("recoveries")), (200, 200), "round {round}");
    }
    assert_eq!(world.count("(select distinct issue_id from wakes) as issues"), 200);
    assert!(load.stop(), "pgbench ended early");
}

#[test]
fn statements_that_a_pooler_loses_are_prepared_no_more_and_nothing_is_half_done() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let pooler = Pooler::start(1);
    let url = pooler.url(world.name());

    // A worker prepares its statements. The next sweep's worker gets the same connection to the server, and meets them
    // before it prepares its own.
    through(&url, &[]).run().done();
    assert_ne!(prepared(&url), 0, "negative control: nothing was prepared");
    let next = world.orphan(&agent);
    let second = through(&url, &[]).run().done().json();
    assert_eq!(second["kinds"]["issues"]["continued"], 1);
    assert_eq!((world.count("recoveries"), world.wakes_for(&issue), world.wakes_for(&next)), (2, 1, 1));
}

/// The statements that clients of a pooler have left in the one session that they share.
fn prepared(url: &str) -> i64 {
    let mut db = connect(url);
    diesel::select(sql::<BigInt>("(select count(*) from pg_prepared_statements)")).get_result(&mut db).expect("a count")
}

/// Both have begun before either prepares a statement, and take turns at the one session: one of them is told that its
/// statement is there already.
#[test]
fn a_statement_that_is_lost_in_the_middle_of_a_sweep_is_asked_again_without_being_prepared() {
    let mut world = World::new(On::Postgres);
    for _ in 0..2 {
        let agent = world.agent("idle");
        for _ in 0..10 {
            world.orphan(&agent);
        }
    }
    let pooler = Pooler::start(1);
    let url = pooler.url(world.name());
    let swept = through(&url, &["--set", "connections=2"]).run().done().json();
    assert_eq!((&swept["kinds"]["issues"]["continued"], &swept["kinds"]["issues"]["failed"]), (&20.into(), &0.into()));
    assert_eq!((world.count("wakes"), world.count("recoveries")), (20, 20));
}

/// The pooler has no connection left to lend, and takes what it is asked. No timeout of the server's ends that wait.
#[test]
fn what_a_pooler_holds_back_is_named_and_given_up_soon_after_the_deadline() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.orphans(&agent, 0..2000);
    let pooler = Pooler::start(2);
    let url = pooler.url(world.name());
    let flags = ["--database", &url, "--set", "deadline=4s", "--set", "connections=2", "--set", "statement_timeout=2s"];
    let (began, mut sweep) = (Instant::now(), Daemon::start(sweep(flags)));
    sweep.says(" continued: ");
    let mut others = [connect(&url), connect(&url)];
    others.iter_mut().for_each(|db| db.batch_execute("begin").expect("a connection to the server"));
    sweep.says("s, though the server ends a statement after 2s: a pooler, a standby or the network keeps it: ");
    let (code, out) = sweep.ended();
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    assert_eq!(code, UNAVAILABLE, "{out}");
    sweep.says("the database has fallen silent: no answer within 9s, and none for ");
    assert_eq!(sweep.count(" to: BEGIN ISOLATION LEVEL "), 1, "{:?}", sweep.log());
    drop(others);
    assert_eq!(world.count("recoveries"), world.count("wakes"), "half done");
}

#[test]
fn a_pooler_that_is_full_or_has_no_server_is_unavailable() {
    let world = World::new(On::Postgres);
    let full = Pooler::start_with("max_client_conn = 0");
    let ran = through(&full.url(world.name()), &[]).run();
    ran.refused(UNAVAILABLE, &["cannot reach PostgreSQL", "no more connections allowed"]);
    let orphaned = Pooler::start_with("[databases]\nnowhere = host=/nonexistent user=postgres");
    let ran = through(&orphaned.url("nowhere"), &[]).run();
    ran.refused(UNAVAILABLE, &["cannot reach PostgreSQL"]);
}
