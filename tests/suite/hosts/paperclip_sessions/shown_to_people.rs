//! When a run is shown to a person, how often, and when that is over.

use chrono::TimeDelta;
use sweep::rules::session::SessionFacts;
use sweep::rules::{Decision, Facts, Policy, decide};
use sweep::store::{Access, Subject, Timeouts};

use super::fixture::{ENDS, SIGNS, another_silent_run, with_a_silent_run};
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

    let agent = world.agent("running");
    let runs = ENDS.map(|status| (status, another_silent_run(&mut world, &agent)));
    let escalated = world.sweep();
    for (status, (_, run)) in &runs {
        assert_eq!(escalated.outcome(run), "escalated", "{status}");
        let now = world.ago(0);
        world.set("heartbeat_runs", run, &format!("status = '{status}', finished_at = {now}"));
    }
    let swept = world.sweep();
    assert_eq!(world.open_session_recoveries(), 0);
    for (status, (issue, run)) in &runs {
        let expected = if *status == "succeeded" { "recovered" } else { "handed_over" };
        assert_eq!(swept.outcome(run), expected, "{status}");
        assert_eq!(world.comments_on(issue), 1, "{status}");
    }
    assert_eq!(world.comments_on(&issue), 1);
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
    let (mut world, issue, running) = with_a_silent_run();
    let agent = world.agent("running");
    for status in ["queued", "scheduled_retry", "RUNNING", "active", ""].into_iter().chain(ENDS) {
        let (_, run) = another_silent_run(&mut world, &agent);
        world.set("heartbeat_runs", &run, &format!("status = '{status}'"));
    }
    for view in ["session_subjects", "session_work_state"] {
        let shown = world.texts("subject_id", &format!("sweep.{view}"));
        assert_eq!(shown, [Some(running.0.clone())], "{view}");
    }
    let swept = world.sweep();
    assert_eq!((swept.outcome(&running), swept.count("sessions", "scanned")), ("escalated", 1), "{}", swept.json);
    assert_eq!((world.comments_on(&issue), world.open_session_recoveries()), (1, 1));
    assert_eq!(world.count("issue_comments"), 1);
}

#[test]
fn each_sign_of_life_keeps_it_healthy() {
    let (mut world, _, _) = with_a_silent_run();
    let agent = world.agent("running");
    let recently = world.ago(59);
    let runs: Vec<_> = SIGNS
        .into_iter()
        .chain(["created_at"])
        .map(|sign| {
            let (issue, run) = another_silent_run(&mut world, &agent);
            world.set("heartbeat_runs", &run, &format!("{sign} = {recently}"));
            (sign, issue, run)
        })
        .collect();
    let swept = world.sweep();
    runs.iter().for_each(|(sign, _, run)| assert_eq!(swept.outcome(run), "healthy", "{sign}"));
    world.pass(2);
    world.run("update heartbeat_runs set started_at = null, last_output_at = null where started_at < created_at");
    let swept = world.sweep();
    for (sign, issue, run) in &runs {
        assert_eq!((swept.outcome(run), world.comments_on(issue)), ("escalated", 1), "{sign}");
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

#[test]
fn a_run_without_an_issue_is_reported_in_the_ledger() {
    let mut world = World::new(On::Paperclip);
    let agent = world.agent("idle");
    let run = world.silent_run(&agent, None);
    assert_eq!(world.sweep().outcome(&run), "escalated");
    assert_eq!((world.session_escalations(&run), world.count("issue_comments")), (1, 0));
    assert_eq!(world.count(&format!("activity_log where entity_id = '{run}'")), 1);
}

#[test]
fn a_run_whose_issue_is_none_or_anothers_is_reported_in_the_ledger() {
    let mut world = World::new(On::Paperclip);
    let (agent, foreign) = (world.agent("running"), "00000000-0000-4000-8000-000000000001");
    world.run(&format!(
        "insert into companies (id, name, issue_prefix) values ('{foreign}', 'Other', 'OTH');
         insert into issues (id, company_id, title, status) values ('{foreign}', '{foreign}', 'x', 'in_progress')"
    ));
    let mut runs = Vec::new();
    for issue in ["", "nonsense", "ACM-1", "00000000-0000-4000-8000-0000000000ff", foreign] {
        for context in [format!("\"{issue}\""), format!("{{\"a\": \"{issue}\"}}")] {
            let (_, run) = another_silent_run(&mut world, &agent);
            world.set("heartbeat_runs", &run, &format!("context_snapshot = '{{\"issueId\": {context}}}'"));
            runs.push((context, run));
        }
    }
    let swept = world.sweep();
    for (context, run) in runs {
        assert_eq!((swept.outcome(&run), world.session_escalations(&run)), ("escalated", 1), "{context}");
    }
    assert_eq!(world.count("issue_comments"), 0);
}

#[test]
fn a_run_of_a_finished_issue_is_left() {
    let (mut world, of_one_in_progress, running) = with_a_silent_run();
    let agent = world.agent("running");
    let runs = ["done", "cancelled"].map(|status| {
        let (issue, run) = another_silent_run(&mut world, &agent);
        world.set("issues", &issue, &format!("status = '{status}'"));
        (status, issue, run)
    });
    let swept = world.sweep();
    for (status, issue, run) in runs {
        assert_eq!((swept.outcome(&run), world.comments_on(&issue)), ("healthy", 0), "{status}");
    }
    assert_eq!((swept.outcome(&running), world.comments_on(&of_one_in_progress)), ("escalated", 1), "the control");
}

#[test]
fn a_run_of_an_agent_that_is_not_at_work_is_left() {
    let mut world = World::new(On::Paperclip);
    let runs = ["paused", "terminated", "pending_approval", "asleep", ""].map(|status| {
        let agent = world.agent(status);
        (status, another_silent_run(&mut world, &agent))
    });
    let swept = world.sweep();
    for (status, (issue, run)) in runs {
        let outcome = if status == "terminated" { "abandoned" } else { "skipped" };
        assert_eq!((swept.outcome(&run), world.comments_on(&issue)), (outcome, 0), "{status}");
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
