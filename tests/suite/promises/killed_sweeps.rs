//! P3: a sweep that is killed at any point leaves nothing half applied, and the next sweep finishes the job.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use sweep::rules::issue::IssueFacts;
use sweep::rules::{Cause, Escalation, Id, Policy};
use sweep::store::hosts::links::Links;
use sweep::store::{Access, Db, Subject, Timeouts, Writes};

use crate::support::rounds::rounds;
use crate::support::wait::wait_until;
use crate::support::world::{On, World};

const KILLS: u32 = 50;

/// Makes issues, steps and sessions to continue and to escalate.
fn company(on: On) -> World {
    let mut world = World::new(on);
    let agent = world.agent("idle");
    world.run("begin");
    for _ in 0..15 {
        world.orphan(&agent);
    }
    world.run("commit");
    world.sweep();
    world.end_continuations("failed");
    world.pass(10);
    world.run("begin");
    for _ in 0..15 {
        world.orphan(&agent);
    }
    if on != On::Paperclip {
        for _ in 0..4 {
            world.stalled_step(Some(&agent));
            world.stalled_step(None);
            world.session(Some(&agent), None);
            let issue = world.orphan(&agent);
            let crashed = world.session(Some(&agent), Some(&issue));
            world.ends(&crashed, "1");
        }
    }
    world.run("commit");
    world
}

/// All rows, without the ids and times that differ from one sweep to the next.
fn state(world: &mut World) -> Vec<(String, i64)> {
    let mut queries = vec![
        "issues where status = 'in_progress'",
        "issues where status = 'blocked'",
        "recoveries where action = 'continue' and kind = 'issue' and settled_at is null",
        "recoveries where action = 'continue' and kind = 'issue'",
        "recoveries where action = 'escalate' and kind = 'issue'",
        "recoveries where kind = 'step'",
    ];
    queries.extend(match world.on {
        On::Paperclip => vec![
            "agent_wakeup_requests where status = 'queued' and run_id is not null",
            "agent_wakeup_requests",
            "heartbeat_runs where status = 'queued'",
            "issue_comments",
            "(select from issue_comments c join issues i on i.id = c.issue_id and i.status = 'blocked') pairs",
            "activity_log",
        ],
        On::Postgres | On::Sqlite => vec![
            "wakes",
            "comments",
            "activity",
            "(select 1 from comments c join issues i on i.id = c.issue_id and i.status = 'blocked') pairs",
            "(select 1 from wakes w join recoveries r on r.wake_id = w.id) pairs",
            "plans where status = 'stalled'",
            "session_commands",
            "(select 1 from session_commands c join recoveries r on r.wake_id = c.id) pairs",
            "recoveries where action = 'escalate' and kind = 'session'",
        ],
    });
    queries.into_iter().map(|query| (query.to_owned(), world.count(query))).collect()
}

fn start(world: &World) -> std::process::Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sweep"));
    command
        .args(["--database", &world.url, "--no-guard", "--set", "wakes_per_agent_max=1000000"])
        .env("SWEEP_LOG", "off")
        .stdout(Stdio::null());
    command.spawn().expect("the program")
}

/// Kills sweeps, each a little later than the one before, over the whole length of a sweep.
fn killed_at_many_moments(on: On) {
    let mut before = company(on);
    let mut undisturbed = before.copy();
    let began = Instant::now();
    assert!(start(&undisturbed).wait().expect("an end").success());
    let took = began.elapsed();
    let expected = state(&mut undisturbed);

    let mut interrupted = 0;
    for kill in rounds(0..KILLS) {
        let mut world = before.copy();
        let mut child = start(&world);
        sleep(took * kill / KILLS);
        let _ = child.kill();
        let killed = !child.wait().expect("an end").success();
        world.wait_for_the_dead();
        let done = world.count("recoveries");
        interrupted += i32::from(killed && 0 < world.count("sweeps where finished_at is null"));

        let swept = world.sweep();

        assert_eq!(swept.count("issues", "failed") + swept.count("issues", "busy"), 0, "{}", swept.json);
        assert_eq!(state(&mut world), expected, "killed after {:?}, {done} rows in the ledger", took * kill / KILLS);
    }
    assert!(0 < interrupted, "no kill came while a sweep was under way");
}

#[test]
fn a_sweep_of_postgres_killed_at_any_moment_is_finished_by_the_next() {
    killed_at_many_moments(On::Postgres);
}

#[test]
fn a_sweep_of_sqlite_killed_at_any_moment_is_finished_by_the_next() {
    killed_at_many_moments(On::Sqlite);
}

/// The negative control: a sweeper that escalates in two transactions, the comment first, is killed between them. The
/// next sweep finishes the job, and the issue has two comments.
#[test]
fn a_sweeper_that_escalates_in_two_transactions_would_be_caught() {
    let mut undisturbed = company(On::Sqlite);
    undisturbed.sweep();
    let mut world = company(On::Sqlite);
    let id = Id(world.text("min(subject_id)", "recoveries where action = 'continue'").expect("an issue"));
    let first_transaction = |db: &mut Db| {
        let facts = IssueFacts::read(db, &id)?.expect("facts");
        let comment_only = Policy { escalation: Escalation::CommentOnly, ..Policy::default() };
        let mut writes = Writes::default();
        facts.escalate(&mut writes, &Cause::Exhausted, &comment_only, &Links::default());
        writes.execute(db)
    };
    let committed = world.connect_as_sweep().in_transaction(Access::Write, &Timeouts::default(), first_transaction);
    assert!(committed.is_ok(), "and the second never begins");

    world.sweep();

    assert_eq!(world.comments_on(&id), 2);
    assert_ne!(state(&mut world), state(&mut undisturbed));
}

/// However slow the database is, a sweep waits only for the subjects that it has begun.
#[test]
fn sigterm_does_not_wait_for_what_was_not_begun() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    for _ in 0..80 {
        world.orphan(&agent);
    }
    world.run(
        "create function wait() returns trigger language plpgsql as $$ begin perform pg_sleep(0.5); return new; end $$;
         create trigger wait before insert on wakes for each row execute function wait()",
    );
    let mut child = start(&world);
    wait_until("the first subject", || 0 < world.count("recoveries"));
    let (pid, asked) = (child.id().to_string(), Instant::now());
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());

    assert_eq!(child.wait().expect("an end").code(), Some(143));
    // All eighty subjects take ten seconds, those in the workers' queues alone eight.
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
}

#[test]
fn sigterm_ends_a_sweep_after_what_is_in_hand_and_says_so() {
    let mut world = World::new(On::Postgres);
    let agent = world.agent("idle");
    world.run("begin");
    for _ in 0..3000 {
        world.orphan(&agent);
    }
    world.run("commit");
    let child = start(&world);
    wait_until("the first subject", || 0 < world.count("recoveries"));
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    let status = child.wait_with_output().expect("an end").status;

    assert_eq!(status.code(), Some(143));
    let continued = world.count("recoveries");
    assert!(continued < 3000, "it was over before the signal came");
    assert_eq!(world.count("wakes"), continued, "nothing is half done");
    assert_eq!(world.count("sweeps where ended = 'interrupted' and finished_at is not null"), 1);
}
