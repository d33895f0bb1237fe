//! Which run is lost by its signs of life, what a sweep does about its work, and what its old process can still do.

mod rivals;

use std::thread;

use chrono::TimeDelta;
use sweep::rules::{Id, Kind};
use sweep::sweep::Options;

use crate::support::in_process::sweep_once;
use crate::support::program::command_at;
use crate::support::wait::wait_until;
use crate::support::world::{On, World, on_each_database};

/// An issue on which a run has been at work for 50 minutes, with more of the run's columns.
pub fn at_work(world: &mut World, columns: &str) -> (Id, Id) {
    let agent = world.agent("running");
    let issue = world.orphan(&agent);
    let run = world.issue_run(&issue, &agent, "running", 50);
    world.set_run(&run, columns);
    (issue, run)
}

/// A start of a worker, so many minutes ago.
pub fn start(world: &mut World, name: &str, minutes: i64) -> Id {
    let (id, started) = (Id::generate(), world.ago(minutes));
    world.run(&format!("insert into workers (id, name, started_at) values ('{id}', '{name}', {started})"));
    id
}

/// A sign of life so many minutes ago, as an assignment.
pub fn heard_of(world: &World, minutes: i64) -> String {
    format!("heartbeat_at = {}", world.ago(minutes))
}

/// The clause about live runs, as `sweep explain` shows it.
fn clause(world: &World, kind: Kind, subject: &Id) -> String {
    let clauses = world.explained(kind, &subject.0)["clauses"].clone();
    let all = clauses.as_array().expect("clauses");
    let found = all.iter().find(|clause| clause["demand"] == "no run is live").map(|clause| clause["found"].clone());
    found.and_then(|found| Some(found.as_str()?.to_owned())).expect("words")
}

/// The sweep leaves this subject alone, whether its facts were read or not.
fn leaves(world: &World, subject: &Id) -> bool {
    ["healthy", "not examined"].contains(&world.sweep().outcome(subject))
}

fn name(run: &Id) -> &str {
    &run.0[..8]
}

on_each_database! {
    /// P19
    fn a_run_whose_worker_has_started_again_is_lost_at_once(world) {
        let first = start(world, "builder", 55);
        let moment = heard_of(world, 0);
        let (issue, run) = at_work(world, &format!("worker_id = '{first}', lease_seconds = 3600, {moment}"));
        start(world, "another", 0);
        assert!(leaves(world, &issue), "another worker says nothing of this one");
        start(world, "builder", 0);
        assert_eq!(
            clause(world, Kind::Issue, &issue),
            format!("none; run {} is lost: its worker has started again", name(&run))
        );

        let swept = world.sweep();

        assert_eq!((swept.outcome(&issue), world.wakes_for(&issue)), ("continued", 1));
        assert_eq!(world.status("runs", &run), "interrupted");
        assert_eq!(world.count("runs where finished_at is not null"), 1);
        let second = start(world, "builder", 0);
        world.run(&format!("update runs set status = 'running', finished_at = null, worker_id = '{second}'"));
        world.sweep();
        assert_eq!((world.status("runs", &run).as_str(), world.wakes_for(&issue)), ("running", 1), "its present start");
    }

    /// A start that a wrong clock dated ahead says nothing of the programs that run now.
    fn a_start_of_a_worker_in_the_future_loses_no_run(world) {
        let first = start(world, "builder", 55);
        let moment = heard_of(world, 0);
        let (issue, _) = at_work(world, &format!("worker_id = '{first}', {moment}"));
        start(world, "builder", -10);
        assert!(leaves(world, &issue));
    }

    /// P19
    fn a_run_is_lost_when_its_lease_has_run_out(world) {
        let [held, ended] = [heard_of(world, 4), heard_of(world, 6)];
        let (alive, _) = at_work(world, &format!("lease_seconds = 300, {held}"));
        let (dead, run) = at_work(world, &format!("lease_seconds = 300, {ended}"));
        let (silent_from_the_start, _) = at_work(world, "lease_seconds = 300");
        // The lease is the run's own word: longer than the policy has it, and not too long.
        let two_hours_ago = heard_of(world, 120);
        let (patient, _) = at_work(world, &format!("lease_seconds = 86400, {two_hours_ago}"));
        let lost = format!("none; run {} is lost: its lease has run out", name(&run));
        assert_eq!(clause(world, Kind::Issue, &dead), lost);

        let swept = world.sweep();

        let outcomes = [&alive, &dead, &silent_from_the_start, &patient].map(|issue| swept.outcome(issue));
        assert_eq!(outcomes, ["not examined", "continued", "continued", "not examined"]);
        assert_eq!(world.count("runs where status = 'interrupted'"), 2);
        assert_eq!(world.count("wakes"), 2);
    }

    /// P19
    fn a_run_that_was_heard_of_is_lost_when_it_is_silent_for_longer_than_the_policy_allows(world) {
        let [fresh, stale] = [heard_of(world, 50), heard_of(world, 70)];
        let (alive, heard) = at_work(world, &fresh);
        let (dead, _) = at_work(world, &stale);
        assert_eq!(clause(world, Kind::Issue, &alive), "one is, heard of 50m ago");
        assert_eq!(clause(world, Kind::Issue, &dead), "none; one is lost, heard of 1h 10m ago");

        let swept = world.sweep();

        assert_eq!([&alive, &dead].map(|issue| swept.outcome(issue)), ["healthy", "continued"]);
        assert_eq!((world.status("runs", &heard).as_str(), world.wakes_for(&dead)), ("running", 1));
        let mut settings = world.options();
        settings.policy.run_silent_after = TimeDelta::minutes(40);
        assert_eq!(world.sweep_as(&settings).outcome(&alive), "continued");
        assert_eq!(world.status("runs", &heard), "interrupted");
    }

    fn a_report_an_explanation_and_attention_name_the_evidence_in_the_same_words(world) {
        let stale = heard_of(world, 70);
        let agent = world.agent("idle");
        let (dead, run) = at_work(world, &format!("lease_seconds = 300, {stale}"));
        let (silent, _) = at_work(world, &stale);
        let orphan = world.orphan(&agent);
        let lost = format!("its run {} is lost: its lease has run out", name(&run));
        let expected =
            [(&dead, &*lost), (&silent, "its run is lost: it has fallen silent"), (&orphan, "nobody is working on it")];
        let attention = world.attention();
        let planned = attention["next_sweep"]["subjects"].as_array().expect("subjects");
        for (issue, words) in expected {
            assert_eq!(world.explained(Kind::Issue, &issue.0)["reason"], words);
            let planned = planned.iter().find(|subject| subject["id"] == issue.0.as_str()).expect("a subject");
            let since = if *issue == orphan { String::new() } else { format!(", since {words}") };
            assert_eq!(planned["would"], format!("continue it with one wake (attempt 1 of 1){since}"));
        }
        for swept in [world.dry_run(), world.sweep()] {
            for (issue, words) in expected {
                let subjects = swept.json["subjects"].as_array().expect("subjects");
                let subject = subjects.iter().find(|subject| subject["id"] == issue.0.as_str());
                assert_eq!(subject.map(|subject| &subject["reason"]), Some(&words.into()), "{}", swept.json);
            }
        }
    }

    fn one_run_that_lives_is_enough_whatever_became_of_the_others(world) {
        let stale = heard_of(world, 70);
        for living in [heard_of(world, 1), "heartbeat_at = null".to_owned(), "lease_seconds = 7200".to_owned()] {
            let (issue, _) = at_work(world, &format!("lease_seconds = 60, {stale}"));
            let agent = world.agent("running");
            let another = world.issue_run(&issue, &agent, "running", 50);
            world.set_run(&another, &living);
            assert!(leaves(world, &issue), "{living}");
        }
        assert_eq!(world.count("runs where status = 'interrupted'"), 0);
    }

    fn the_run_that_holds_its_issue_and_one_that_a_wake_started_are_runs_of_the_issue(world) {
        let stale = heard_of(world, 70);
        let agent = world.agent("running");
        let [held, woken] = [world.orphan(&agent), world.orphan(&agent)];
        let wake = world.issue_wake(&woken, &agent, "claimed", 55);
        let [holder, taker] = [held.clone(), woken.clone()].map(|issue| world.issue_run(&issue, &agent, "running", 50));
        world.set_run(&holder, &format!("issue_id = null, {stale}"));
        world.set("issues", &held, &format!("checkout_run_id = '{holder}'"));
        world.set_run(&taker, &format!("issue_id = null, wake_id = '{wake}', {stale}"));

        let swept = world.sweep();

        assert_eq!([&held, &woken].map(|issue| swept.outcome(issue)), ["continued", "continued"], "{}", swept.json);
        assert_eq!(world.count("runs where status = 'interrupted'"), 2);
    }

    fn a_sign_of_life_of_a_worker_is_one_of_each_of_its_runs(world) {
        let worker = start(world, "builder", 55);
        let stale = heard_of(world, 70);
        let (issue, run) = at_work(world, &format!("worker_id = '{worker}', {stale}"));
        let (_, ended) = at_work(world, &format!("worker_id = '{worker}', status = 'failed', {stale}"));
        let moment = world.ago(0);
        world.run(&format!("update workers set heartbeat_at = {moment} where id = '{worker}'"));
        assert!(leaves(world, &issue));
        assert_eq!(world.status("runs", &run), "running");
        let older = format!("runs r join workers w on r.heartbeat_at < w.heartbeat_at where r.id = '{ended}'");
        assert_eq!(world.count(&older), 1, "it has ended");
    }

    fn a_step_whose_run_is_lost_is_continued_and_its_run_is_closed(world) {
        let agent = world.agent("running");
        let [mut by_name, mut by_wake] = [(); 2].map(|()| world.stalled_step(Some(&agent)).1);
        let (fresh, now) = (heard_of(world, 0), world.ago(50));
        let wake = Id::generate();
        world.run(&format!(
            "insert into wakes (id, agent_id, plan_step_id, reason, requested_by, status, created_at)
             values ('{wake}', '{agent}', '{by_wake}', 'work', 'us', 'claimed', {now})"
        ));
        for (column, value) in [("plan_step_id", &by_name), ("wake_id", &wake)] {
            let id = Id::generate();
            world.run(&format!(
                "insert into runs (id, agent_id, {column}, status, created_at)
                 values ('{id}', '{agent}', '{value}', 'running', {now})"
            ));
        }
        for evidence in [format!("lease_seconds = 600, {fresh}"), fresh.clone()] {
            world.run(&format!("update runs set {evidence}"));
            assert!([&by_name, &by_wake].iter().all(|step| leaves(world, step)), "{evidence}");
        }
        let stale = heard_of(world, 20);
        world.run(&format!("update runs set lease_seconds = 600, {stale}"));
        assert!(clause(world, Kind::Step, &by_name).ends_with("its lease has run out"));

        let swept = world.sweep();

        assert_eq!([&mut by_name, &mut by_wake].map(|step| swept.outcome(step)), ["continued", "continued"]);
        assert_eq!(world.count("runs where status = 'interrupted'"), 2);
    }

    fn a_run_of_a_step_is_one_of_the_plans_issue_as_well(world) {
        let agent = world.agent("running");
        let issue = world.orphan(&agent);
        let (plan, step) = world.stalled_step(Some(&agent));
        world.set("plans", &plan, &format!("issue_id = '{issue}'"));
        world.set("plan_steps", &step, "status = 'completed'");
        let (run, now) = (Id::generate(), world.ago(50));
        world.run(&format!(
            "insert into runs (id, agent_id, plan_step_id, status, created_at)
             values ('{run}', '{agent}', '{step}', 'running', {now})"
        ));
        for (evidence, outcome) in [(heard_of(world, 1), "healthy"), (heard_of(world, 70), "continued")] {
            world.set_run(&run, &evidence);
            assert_eq!(world.sweep().outcome(&issue), outcome, "{evidence}");
        }
        assert_eq!(world.status("runs", &run), "interrupted");
    }

    /// P5
    fn a_continuation_that_is_lost_as_well_is_escalated_and_says_so(world) {
        let stale = heard_of(world, 70);
        let (issue, _) = at_work(world, &stale);
        world.sweep();
        world.end_continuations("running");
        world.pass(10);
        let ended = heard_of(world, 7);
        world.run(&format!("update runs set lease_seconds = 60, {ended} where status = 'running'"));
        let last = Id(world.text("id", "runs where status = 'running'").expect("the run of the wake"));

        assert_eq!(world.sweep().outcome(&issue), "escalated");
        assert_eq!(world.count("runs where status = 'interrupted'"), 2);
        let said = format!("Its last run: \"`run {} is lost: its lease has run out`\".", name(&last));
        assert_eq!(world.count(&format!("comments where body like '%{said}%'")), 1);
    }

    /// P19
    fn the_old_process_of_a_run_that_was_taken_changes_nothing(world) {
        let (issue, run) = at_work(world, "lease_seconds = 60");
        assert_eq!(world.sweep().outcome(&issue), "continued");
        let row = "status || finished_at";
        let before = world.text(row, "runs");
        for late in ["heartbeat_at = created_at", "status = 'succeeded'"] {
            world.run(&format!("update runs set {late} where id = '{run}' and status = 'running'"));
        }
        assert_eq!(world.text(row, "runs"), before);
    }

    /// P1
    fn eight_sweeps_at_once_take_a_lost_run_once(world) {
        let stale = heard_of(world, 70);
        let issues: Vec<Id> = (0..20).map(|_| at_work(world, &stale).0).collect();
        let settings = world.options();
        let continued: i64 = thread::scope(|scope| {
            let sweeps: Vec<_> = (0..8).map(|_| scope.spawn(|| sweep_once(&settings))).collect();
            sweeps.into_iter().map(|sweep| sweep.join().expect("a sweep").count("issues", "continued")).sum()
        });
        assert_eq!((continued, world.count("wakes")), (20, 20));
        assert!(issues.iter().all(|issue| world.wakes_for(issue) == 1));
        assert_eq!(world.count("runs where status = 'interrupted'"), 20);
    }

    fn a_dry_run_closes_no_run(world) {
        let (issue, run) = at_work(world, "lease_seconds = 60");
        assert_eq!((world.dry_run().outcome(&issue), world.status("runs", &run).as_str()), ("continued", "running"));
    }

    /// P19
    fn a_run_that_has_never_shown_a_sign_of_life_is_left_and_shown_to_people_once(world) {
        let (issue, run) = at_work(world, "heartbeat_at = null");
        let notifying = world.notifying(&[("SWEEP_WEBHOOK_URL", "https://example.com")]);
        let told = "notifications where event = 'run_unheard'";
        let sweep_together = |settings: &Options| {
            thread::scope(|scope| {
                let sweeps: Vec<_> = (0..8).map(|_| scope.spawn(|| sweep_once(settings))).collect();
                sweeps.into_iter().for_each(|sweep| drop(sweep.join().expect("a sweep")));
            });
        };
        sweep_together(&notifying.sweep);
        assert_eq!((world.count(told), world.attention()["items_total"].as_i64()), (0, Some(0)));
        world.pass(20);

        sweep_together(&notifying.sweep);

        assert_eq!(world.count(told), 1);
        let attention = world.attention();
        let item = &attention["items"][0];
        let why = format!("run {} has been running for 1h 10m without a sign of life", name(&run));
        assert_eq!((item["what"].as_str(), item["why"].as_str()), (Some("unheard_run"), Some(why.as_str())));
        assert_eq!(item["id"].as_str(), Some(issue.0.as_str()));
        let shown = command_at(&world.url, ["attention"]).run().done();
        let words = format!("run without a sign of life for 1h 10m, Ada: {why}");
        assert!(shown.out.contains(&words), "{shown}");
        let end = format!("sweep run end {run} interrupted");
        let last = item["commands"].as_array().and_then(|all| all.last()?.as_str());
        assert_eq!(last, Some(&*end), "{item}");
        assert_eq!((world.wakes_for(&issue), world.status("runs", &run).as_str()), (0, "running"));
        world.set_run(&run, "lease_seconds = 86400");
        assert_eq!(world.attention()["items_total"], 0, "its lease says when it is lost");
    }

    fn work_that_shows_signs_of_life_by_itself_needs_none_of_its_run(world) {
        let (busy, _) = at_work(world, "heartbeat_at = null");
        let (in_a_session, _) = at_work(world, "heartbeat_at = null");
        let (done, _) = at_work(world, "heartbeat_at = null");
        world.session(None, Some(&in_a_session));
        world.pass(20);
        let moment = world.ago(1);
        world.set("issues", &busy, &format!("updated_at = {moment}"));
        world.set("issues", &done, "status = 'done'");
        let shown = world.attention();
        assert!(shown["items"].as_array().expect("items").iter().all(|item| item["what"] != "unheard_run"), "{shown}");
    }
}

/// Two transactions of PostgreSQL, step by step.
mod step_by_step {
    use super::*;

    /// A run that is lost unless the sign of life arrives that is not committed yet.
    fn about_to_be_heard_of() -> (World, Id, Id) {
        let mut world = World::new(On::Postgres);
        let stale = heard_of(&world, 70);
        let (issue, run) = at_work(&mut world, &stale);
        world.run(&format!("begin; update runs set heartbeat_at = now() - interval '10 s' where id = '{run}'"));
        (world, issue, run)
    }

    /// P19
    #[test]
    fn a_sign_of_life_just_before_the_lock_is_seen() {
        let (mut world, issue, run) = about_to_be_heard_of();
        let during = world.sweep();
        world.run("commit");
        let after = world.sweep();

        assert_eq!((during.outcome(&issue), after.outcome(&issue)), ("busy", "healthy"));
        assert_eq!((world.wakes_for(&issue), world.status("runs", &run).as_str()), (0, "running"));
    }

    /// The control of P19: without the lock the sweep takes the work of a run that lives.
    #[test]
    fn a_sweep_that_locks_no_run_takes_one_that_lives() {
        let (mut world, issue, run) = about_to_be_heard_of();
        let mut another = World::at(On::Postgres, world.url.clone(), None);
        another.run(
            "create or replace function lock_runs(of_kind text, of_subject uuid) returns boolean
             language sql as 'select true'",
        );
        let mut settings = world.options();
        settings.timeouts.lock = TimeDelta::minutes(1);
        thread::scope(|scope| {
            let sweep = scope.spawn(|| sweep_once(&settings));
            let waiting = "pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
            wait_until("the sweep waits for the run", || 0 < another.count(waiting));
            world.run("commit");
            assert_eq!(sweep.join().expect("a sweep").outcome(&issue), "continued");
        });
        assert_eq!((world.wakes_for(&issue), world.status("runs", &run).as_str()), (1, "interrupted"));
    }
}
