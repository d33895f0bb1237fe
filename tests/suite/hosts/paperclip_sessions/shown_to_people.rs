//! When a run is shown to a person, how often, and when that is over.

use chrono::TimeDelta;
use sweep::rules::session::SessionFacts;
use sweep::rules::{Decision, Facts, Id, Policy, decide};
use sweep::store::{Access, Subject, Timeouts};

use super::fixture::{ENDS, SIGNS, with_a_silent_run};
use crate::support::world::{On, World};

#[test]
fn a_silent_run_is_reported_once_and_neither_it_nor_its_issue_is_changed() {
    let (mut world, issue, run) = with_a_silent_run();
    let before = (world.row("heartbeat_runs", &run), world.row("issues", &issue));

    let swept = world.sweep();

    assert_eq!((swept.outcome(&run), &swept.subject(&run)["finding"]), ("escalated", &"silent".into()));
    assert_eq!(swept.subject(&run)["reason"], "it takes no commands");
    assert_eq!((&swept.subject(&run)["attempt"], &swept.subject(&run)["attempts_max"]), (&0.into(), &0.into()));
    assert_eq!(swept.outcome(&issue), "not examined", "a run is live");
    for _ in 0..3 {
        assert_eq!(world.sweep().outcome(&run), "waiting");
    }
    assert_eq!((world.comments_on(&issue), world.session_escalations(&run), world.wakes_for(&issue)), (1, 1, 0));
    assert_eq!((world.row("heartbeat_runs", &run), world.row("issues", &issue)), before);
    let reported = world.text("body", "issue_comments where author_type = 'system'").expect("a comment");
    assert!(reported.contains("It showed no sign of life for 2h") && reported.contains(&run.0[..8]), "{reported}");
}

#[test]
fn the_hosts_activity_log_says_of_which_run() {
    let (mut world, issue, run) = with_a_silent_run();
    world.sweep();
    world.prints(&run);
    world.sweep();

    for action in ["session.escalate", "session.recover"] {
        let logged = format!(
            "activity_log l join heartbeat_runs r on r.id = '{run}' and r.company_id = l.company_id
             where l.entity_type = 'heartbeat_run' and l.entity_id = r.id::text and l.action = '{action}'
               and l.actor_type = 'system' and l.actor_id = 'sweep' and l.details ->> 'issueId' = '{issue}'"
        );
        assert_eq!(world.count(&logged), 1, "{action}");
    }
    assert_eq!(world.count("activity_log"), 2);
}

#[test]
fn a_second_silence_after_a_sign_of_life_is_reported_again() {
    let (mut world, issue, run) = with_a_silent_run();
    world.sweep();
    for (sweeps_between, comments) in [(true, 2), (false, 3)] {
        world.prints(&run);
        if sweeps_between {
            assert_eq!(world.sweep().outcome(&run), "recovered");
        }
        world.pass(61);
        assert_eq!(world.sweep().outcome(&run), "escalated");
        assert_eq!(world.sweep().outcome(&run), "waiting");
        assert_eq!(world.comments_on(&issue), comments);
    }
}

#[test]
fn however_often_it_falls_silent_a_day_has_four_comments() {
    let (mut world, issue, run) = with_a_silent_run();
    for _ in 0..9 {
        world.sweep();
        world.prints(&run);
        world.sweep();
        world.pass(61);
    }
    assert_eq!((world.comments_on(&issue), world.session_escalations(&run)), (4, 4));
}

#[test]
fn output_is_recorded_as_a_recovery_and_every_end_of_the_run_as_what_it_is() {
    let (mut world, issue, run) = with_a_silent_run();
    world.sweep();
    world.prints(&run);
    assert_eq!(world.sweep().outcome(&run), "recovered");
    assert_eq!(world.open_session_recoveries(), 0);
    assert_eq!(world.sweep().count("sessions", "recovered"), 0, "once");

    for status in ENDS {
        world.set("heartbeat_runs", &run, "status = 'running'");
        world.pass(24 * 60 + 1);
        assert_eq!(world.sweep().outcome(&run), "escalated");
        let now = world.ago(0);
        world.set("heartbeat_runs", &run, &format!("status = '{status}', finished_at = {now}"));
        let expected = if status == "succeeded" { "recovered" } else { "handed_over" };
        assert_eq!(world.sweep().outcome(&run), expected, "{status}");
        assert_eq!(world.open_session_recoveries(), 0);
    }
    assert_eq!(world.comments_on(&issue), 6);
}

/// Only then is it an orphan: until then a run was live.
#[test]
fn the_issue_of_a_run_that_ended_is_continued() {
    let (mut world, issue, run) = with_a_silent_run();
    world.sweep();
    let some = world.ago(10);
    world.set("heartbeat_runs", &run, &format!("status = 'failed', finished_at = {some}"));

    let swept = world.sweep();

    assert_eq!((swept.outcome(&run), swept.outcome(&issue)), ("handed_over", "continued"));
}

#[test]
fn only_a_run_that_is_running_is_a_session() {
    let (mut world, issue, run) = with_a_silent_run();
    for status in ["queued", "scheduled_retry", "RUNNING", "active", ""].into_iter().chain(ENDS) {
        world.set("heartbeat_runs", &run, &format!("status = '{status}'"));
        let swept = world.sweep();
        assert_eq!((swept.outcome(&run), swept.count("sessions", "scanned")), ("not examined", 0), "{status}");
        assert_eq!(world.count("sweep.session_subjects") + world.count("sweep.session_work_state"), 0, "{status}");
    }
    assert_eq!((world.comments_on(&issue), world.session_escalations(&run)), (0, 0));
}

#[test]
fn each_sign_of_life_keeps_it_healthy() {
    for sign in SIGNS.into_iter().chain(["created_at"]) {
        let (mut world, issue, run) = with_a_silent_run();
        let recently = world.ago(59);
        world.set("heartbeat_runs", &run, &format!("{sign} = {recently}"));
        assert_eq!(world.sweep().outcome(&run), "healthy", "{sign}");
        world.pass(2);
        if sign == "created_at" {
            world.set("heartbeat_runs", &run, "started_at = null, last_output_at = null");
        }
        assert_eq!(world.sweep().outcome(&run), "escalated", "{sign}");
        assert_eq!(world.comments_on(&issue), 1);
    }
}

#[test]
fn exactly_at_the_threshold_it_is_not_yet_silent() {
    let (world, _, run) = with_a_silent_run();
    let read = |db: &mut _| SessionFacts::read(db, &run);
    let facts = world.connect_as_sweep().in_transaction(Access::ReadOnly, &Timeouts::default(), read);
    let facts = facts.expect("facts").expect("a session");
    let decided = |run_silent_after| decide(&facts, &Policy { run_silent_after, ..Policy::default() }).decision;
    let idle = facts.history().idle_for();

    assert!(matches!(decided(idle), Decision::Leave(_)));
    assert!(matches!(decided(idle - TimeDelta::microseconds(1)), Decision::Escalate(_)));
}

fn is_reported_in_the_ledger_alone(world: &mut World, run: &Id, which: &str) {
    assert_eq!(world.sweep().outcome(run), "escalated", "{which}");
    assert_eq!((world.session_escalations(run), world.count("issue_comments")), (1, 0), "{which}");
}

#[test]
fn a_run_without_an_issue_is_reported_in_the_ledger() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let run = world.silent_run(&agent, None);
    is_reported_in_the_ledger_alone(&mut world, &run, "none");
    assert_eq!(world.count(&format!("activity_log where entity_id = '{run}'")), 1);
}

#[test]
fn a_run_whose_issue_is_none_or_anothers_is_reported_in_the_ledger() {
    let foreign = "00000000-0000-4000-8000-000000000001";
    for issue in ["", "nonsense", "ACM-1", "00000000-0000-4000-8000-0000000000ff", foreign] {
        for quoted in [true, false] {
            let (mut world, own, run) = with_a_silent_run();
            world.run(&format!(
                "insert into companies (id, name, issue_prefix) values ('{foreign}', 'Other', 'OTH');
                 insert into issues (id, company_id, title, status) values ('{foreign}', '{foreign}', 'x', \
                 'in_progress')"
            ));
            let context = if quoted { format!("\"{issue}\"") } else { format!("{{\"a\": \"{issue}\"}}") };
            world.set("heartbeat_runs", &run, &format!("context_snapshot = '{{\"issueId\": {context}}}'"));
            is_reported_in_the_ledger_alone(&mut world, &run, issue);
            assert_eq!(world.comments_on(&own), 0);
        }
    }
}

#[test]
fn a_run_of_a_finished_issue_is_left() {
    for status in ["done", "cancelled"] {
        let (mut world, issue, run) = with_a_silent_run();
        world.set("issues", &issue, &format!("status = '{status}'"));
        assert_eq!(world.sweep().outcome(&run), "healthy", "{status}");
        assert_eq!(world.comments_on(&issue), 0);
    }
}

#[test]
fn a_run_of_an_agent_that_is_not_at_work_is_left() {
    for status in ["paused", "terminated", "pending_approval", "asleep", ""] {
        let (mut world, issue, run) = with_a_silent_run();
        world.run(&format!("update agents set status = '{status}'"));
        let outcome = if status == "terminated" { "abandoned" } else { "skipped" };
        assert_eq!(world.sweep().outcome(&run), outcome, "{status}");
        assert_eq!(world.comments_on(&issue), 0);
    }
}

#[test]
fn a_run_that_is_exempt_is_left_until_the_exemption_is_over() {
    let (mut world, issue, run) = with_a_silent_run();
    let tomorrow = world.ago(-1440);
    world.run(&format!(
        "insert into sweep.exemptions (kind, subject_id, reason, until) values ('session', '{run}', 'a long build', \
            {tomorrow})"
    ));
    let swept = world.sweep();
    assert_eq!((swept.outcome(&run), world.comments_on(&issue)), ("waiting", 0), "{}", swept.subject(&run));
    let past = world.ago(1);
    world.run(&format!("update sweep.exemptions set until = {past}"));
    assert_eq!(world.sweep().outcome(&run), "escalated");
}

#[test]
fn a_dry_run_decides_the_same_and_writes_nothing() {
    let (mut world, _, run) = with_a_silent_run();
    let before = world.row("heartbeat_runs", &run);

    let dry = world.dry_run();

    assert_eq!(dry.outcome(&run), "escalated");
    for table in ["recoveries", "sweeps", "issue_comments", "activity_log"] {
        assert_eq!(world.count(table), 0, "{table}");
    }
    assert_eq!(world.row("heartbeat_runs", &run), before);
    let wet = world.sweep();
    for field in ["finding", "decision", "reason", "attempt", "outcome", "identifier"] {
        assert_eq!(dry.subject(&run)[field], wet.subject(&run)[field], "{field}");
    }
}
