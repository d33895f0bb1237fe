//! Many sweeps at once, and a host that acts at the same moment.

use std::thread;

use diesel::connection::SimpleConnection;
use sweep::conclusion::Conclusion;
use sweep::rules::Id;

use super::fixture::with_a_silent_run;
use crate::support::databases::run;
use crate::support::in_process::sweep_once;
use crate::support::world::{On, World};

const RUNS: usize = 50;
const SWEEPS: usize = 8;

#[test]
fn eight_sweeps_at_once_report_each_run_once() {
    let mut world = World::new(On::Paperclip);
    let agents: Vec<Id> = (0..5).map(|_| world.agent("running")).collect();
    world.run("begin");
    let runs: Vec<(Id, Id)> = (0..RUNS)
        .map(|n| {
            let issue = world.orphan(&agents[n % agents.len()]);
            (world.silent_run(&agents[n % agents.len()], Some(&issue)), issue)
        })
        .collect();
    world.run("commit");
    let settings = world.options();

    let escalated: i64 = thread::scope(|scope| {
        let sweeps: Vec<_> = (0..SWEEPS).map(|_| scope.spawn(|| sweep_once(&settings))).collect();
        let done = sweeps.into_iter().map(|sweep| sweep.join().expect("a sweep"));
        done.map(|swept| {
            assert_eq!(swept.count("sessions", "failed") + swept.count("sessions", "unknown"), 0, "{}", swept.json);
            swept.count("sessions", "escalated")
        })
        .sum()
    });

    assert_eq!(escalated, RUNS as i64);
    for (run, issue) in runs {
        assert_eq!((world.session_escalations(&run), world.comments_on(&issue)), (1, 1));
    }
}

/// What the host has in hand is busy, never clean; the next sweep does it.
#[test]
fn a_run_or_an_issue_or_an_agent_in_other_hands_is_busy() {
    let (mut world, issue, session) = with_a_silent_run();
    for held in [
        "select from heartbeat_runs for update",
        "update heartbeat_runs set error = 'x'",
        "insert into heartbeat_run_events (company_id, run_id, agent_id, seq, event_type)
         select company_id, id, agent_id, 1, 'x' from heartbeat_runs",
        "select from issues for update",
        "update issues set title = 'Mend it'",
        "update agents set status = 'paused'",
    ] {
        let mut host = world.connect();
        run(&mut host, &format!("begin; {held}"));

        let busy = world.sweep();

        assert_eq!((busy.outcome(&session), busy.exit), ("busy", Conclusion::Busy), "{held}");
        assert_eq!((world.comments_on(&issue), world.session_escalations(&session)), (0, 0), "{held}");
        run(&mut host, "rollback");
    }
    assert_eq!(world.sweep().outcome(&session), "escalated");
}

/// A server holds every run that is running, again and again.
#[test]
fn a_run_that_shows_signs_of_life_is_not_locked_and_who_holds_it_is_no_news() {
    let (mut world, _, session) = with_a_silent_run();
    let ten_seconds_ago = "now() - interval '10 seconds'";
    world.run(&format!("update heartbeat_runs set last_output_at = {ten_seconds_ago}, updated_at = {ten_seconds_ago}"));
    let mut host = world.connect();
    run(&mut host, "begin; select from heartbeat_runs for update; select from issues for update");

    let swept = world.sweep();

    assert_eq!((swept.outcome(&session), swept.exit), ("healthy", Conclusion::Done));
}

/// P2: between the scan and the lock its output came.
#[test]
fn a_sign_of_life_after_the_scan_is_seen() {
    let (mut world, issue, session) = with_a_silent_run();
    let plan = world.dry_run();
    world.prints(&session);
    let plan = sweep::sweep::plan::Plan::read(plan.json.to_string().as_bytes()).expect("a plan");
    let selection = sweep::sweep::Selection::Plan(Box::new(plan));

    let swept = world.sweep_as(&sweep::sweep::Options { selection, ..world.options() });

    assert_eq!((swept.outcome(&session), world.comments_on(&issue)), ("changed", 0));
}

/// The right to lock is the right to update: the view itself refuses.
#[test]
fn nobody_can_change_a_run_through_the_view() {
    let (mut world, _, session) = with_a_silent_run();
    let before = world.row("heartbeat_runs", &session);
    let locks = "is there to lock the row";
    for (change, says) in [
        ("status = 'failed'", "is its server's: sweep only locks it"),
        ("agent_id = null", "is its server's: sweep only locks it"),
        ("id = id", locks),
        ("id = gen_random_uuid()", locks),
    ] {
        let refused = world.db.batch_execute(&format!("update sweep.sessions set {change}"));
        let words = refused.expect_err("a refusal").to_string();
        assert!(words.contains(says), "{change}: {words}");
    }
    assert_eq!(world.row("heartbeat_runs", &session), before);
}
