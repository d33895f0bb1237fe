//! Work whose agent is gone, terminated or cannot be woken for long: sweeps leave it alone, and notify people: once of
//! an agent that is lost, also on the issue, and each week of one that may go on one day.

use sweep::rules::{After, Id};
use sweep::store::work::outbox::{Destination, Event, Subscriptions};
use sweep::sweep::Options;

use crate::support::in_process::sweep_once;
use crate::support::program::{command_at, sweep_at};
use crate::support::receiver::Receiver;
use crate::support::world::{On, World, on_each_database, on_each_host};

use chrono::TimeDelta;
use diesel::connection::SimpleConnection;

/// In minutes.
const DAY: i64 = 24 * 60;

/// Makes an orphan that has been idle for so long, of an agent in this status.
fn idle_with(world: &mut World, status: &str, minutes: i64) -> Id {
    let agent = world.agent(status);
    let issue = world.orphan(&agent);
    let then = world.ago(minutes);
    world.set("issues", &issue, &format!("updated_at = {then}, started_at = {then}"));
    issue
}

on_each_host! {
    fn the_issue_of_a_terminated_agent_is_reported_once_and_left_as_it_is(world) {
        let issue = idle_with(world, "terminated", 70);
        let row = |world: &mut World| {
            let columns = "status || coalesce(cast(assignee_agent_id as text), '') || cast(updated_at as text)";
            world.text(columns, &format!("issues where id = '{issue}'"))
        };
        let before = row(world);

        let outcomes: Vec<String> = (0..3).map(|_| world.sweep().outcome(&issue).to_owned()).collect();

        assert_eq!(outcomes, ["abandoned", "skipped", "skipped"]);
        assert_eq!((row(world), world.wakes_for(&issue), world.comments_on(&issue)), (before, 0, 1));
        assert_eq!(world.count("recoveries where action = 'abandon' and settled_at is null"), 1);
    }

    fn until_then_it_is_skipped_and_a_shorter_or_no_time_is_a_setting(world) {
        let issue = idle_with(world, "terminated", 50);
        assert_eq!(world.sweep().outcome(&issue), "skipped");
        let with = |after| {
            let mut settings = world.options();
            settings.policy.abandoned_after = after;
            world.sweep_as(&settings).outcome(&issue).to_owned()
        };
        assert_eq!(with(After::Off), "skipped");
        assert_eq!(with(After::Time(TimeDelta::minutes(45))), "abandoned");
    }

    fn work_of_an_agent_that_rests_is_reported_after_a_day_and_again_each_week(world) {
        let issues = ["paused", "pending_approval"].map(|status| idle_with(world, status, DAY - 10));
        let outcomes = |world: &mut World, minutes: i64| {
            world.pass(minutes);
            let swept = world.sweep();
            issues.each_ref().map(|issue| swept.outcome(issue).to_owned())
        };
        assert_eq!(outcomes(world, 0), ["skipped"; 2]);
        assert_eq!(outcomes(world, 20), ["abandoned"; 2]);
        for _week in 0..2 {
            assert_eq!(outcomes(world, 1), ["skipped"; 2]);
            assert_eq!(outcomes(world, 7 * DAY - 30), ["skipped"; 2]);
            assert_eq!(outcomes(world, 40), ["abandoned"; 2]);
        }
        assert_eq!(world.count("recoveries where settled_at is null"), 2);
        assert_eq!(world.comments_on(&issues[0]), 0, "whoever paused it knows why");
        let mut settings = world.options();
        settings.policy.paused_after = After::Off;
        world.pass(8 * DAY);
        assert_eq!(world.sweep_as(&settings).outcome(&issues[0]), "skipped");
    }

    fn each_agent_that_an_issue_loses_is_a_comment_on_it_and_a_report_once(world) {
        let issue = idle_with(world, "paused", DAY + 10);
        let swept = |world: &mut World| (world.sweep().outcome(&issue).to_owned(), world.comments_on(&issue));
        assert_eq!(swept(world), ("abandoned".to_owned(), 0));
        world.run("update agents set status = 'terminated'");
        assert_eq!(swept(world), ("abandoned".to_owned(), 1), "it was paused, and now it is lost");
        world.pass(8 * DAY);
        assert_eq!(swept(world), ("skipped".to_owned(), 1));
        let next = world.agent("terminated");
        let then = world.ago(70);
        world.set("issues", &issue, &format!("assignee_agent_id = '{next}', updated_at = {then}"));
        assert_eq!(swept(world), ("abandoned".to_owned(), 2));
        assert_eq!(swept(world), ("skipped".to_owned(), 2));
    }

    fn the_comment_says_who_is_lost_since_when_and_what_can_be_done(world) {
        let issue = idle_with(world, "terminated", 70);
        world.sweep();
        let table = if world.on == On::Paperclip { "issue_comments" } else { "comments" };
        let body = world.text("body", &format!("{table} where issue_id = '{issue}'")).expect("a comment");
        assert!(body.starts_with("**No agent goes on with this issue.** It is in progress, but "), "{body}");
        assert!(body.contains(" is terminated, and nothing has happened since 20"), "{body}");
        assert!(body.contains("What you can do: Give it to an agent that works"), "{body}");
    }

    fn eight_sweeps_at_once_report_each_once_first_and_when_a_week_is_over(world) {
        let lost: Vec<Id> = (0..20).map(|n| idle_with(world, "terminated", 70 + n)).collect();
        for n in 0..20 {
            idle_with(world, "paused", DAY + 10 + n);
        }
        let mut settings = Options { connections: 2, ..world.options() };
        settings.subscriptions =
            Subscriptions { destinations: vec![Destination::Webhook], events: vec![Event::Abandoned] };
        let together = |world: &mut World| {
            let reported: i64 = std::thread::scope(|scope| {
                let sweeps: Vec<_> = (0..8).map(|_| scope.spawn(|| sweep_once(&settings))).collect();
                let swept = sweeps.into_iter().map(|sweep| sweep.join().expect("a sweep"));
                swept.map(|swept| {
                    assert_eq!(swept.count("issues", "failed") + swept.count("issues", "unknown"), 0, "{}", swept.json);
                    swept.count("issues", "abandoned")
                }).sum()
            });
            (reported, world.count("notifications"), world.count("recoveries where settled_at is null"))
        };
        assert_eq!(together(world), (40, 40, 40));
        world.pass(7 * DAY + 10);
        assert_eq!(together(world), (20, 60, 40), "those of the paused agent, again");
        for issue in &lost {
            assert_eq!(world.comments_on(issue), 1);
        }
    }

    /// A negative control: who reports by facts that were read before another sweep's report is refused by the ledger.
    fn a_report_by_facts_that_are_old_is_refused(world) {
        let issue = idle_with(world, "paused", DAY + 10);
        world.sweep();
        world.pass(7 * DAY + 10);
        let twice = |world: &mut World, settles: &str| {
            let (id, at) = (Id::generate(), world.ago(0));
            world.db.batch_execute(&format!(
                "{settles}
                 insert into recoveries (id, sweep_id, kind, subject_id, action, reason, episode_began_at, attempt)
                 values ('{id}', '{id}', 'issue', '{issue}', 'abandon', 'x', {at}, 0)"
            ))
        };
        assert!(twice(world, "").is_err(), "one is open");
        let settled = format!("update recoveries set settled_at = {} where settled_at is null;", world.ago(0));
        twice(world, &settled).expect("the week's report");
        assert!(twice(world, "").is_err(), "another sweep's report is open");
        assert_eq!(world.sweep().outcome(&issue), "skipped");
    }

    fn the_wake_of_a_terminated_agent_hides_neither_that_its_issue_is_abandoned_nor_the_work_of_another_agent(world) {
        let abandoned = idle_with(world, "terminated", 70);
        let [terminated, paused, idle] = ["terminated", "paused", "idle"].map(|status| world.agent(status));
        let [stranded, waits] = [world.orphan(&idle), world.orphan(&idle)];
        world.issue_wake(&abandoned, &terminated, "queued", 60);
        world.issue_wake(&stranded, &terminated, "queued", 60);
        world.issue_wake(&waits, &paused, "queued", 50);
        let swept = world.sweep();
        assert_eq!(
            [&abandoned, &stranded, &waits].map(|issue| swept.outcome(issue)),
            ["abandoned", "continued", "healthy"]
        );
    }

    fn the_limit_bounds_how_many_are_reported_in_one_sweep(world) {
        (0..3).for_each(|n| drop(idle_with(world, "terminated", 70 + n)));
        let reported = || sweep_at(&world.url,
            ["--limit", "2", "--output", "json"]).run().done().json()["kinds"]["issues"]["abandoned"].clone();
        assert_eq!([reported(), reported(), reported()], [2, 1, 0]);
    }

    fn what_gets_another_agent_is_continued_and_what_is_finished_has_recovered(world) {
        let [reassigned, finished] = [idle_with(world, "terminated", 70), idle_with(world, "terminated", 80)];
        world.sweep();
        let agent = world.agent("idle");
        world.set("issues", &reassigned, &format!("assignee_agent_id = '{agent}'"));
        world.set("issues", &finished, "status = 'done'");

        let swept = world.sweep();

        assert_eq!((swept.outcome(&reassigned), swept.outcome(&finished)), ("continued", "recovered"));
        assert_eq!(world.count("recoveries where action = 'abandon' and settled_at is null"), 0);
    }

    fn the_metrics_count_it_until_it_is_exempt_or_deleted(world) {
        let [deleted, exempt] = [idle_with(world, "terminated", 70), idle_with(world, "terminated", 80)];
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().to_str().expect("a plain path");
        let counted = |world: &World| {
            sweep_at(&world.url, ["--set", &format!("metrics_file={path}")]).run().done();
            let text = std::fs::read_to_string(path).expect("metrics");
            let line = text.lines().find_map(|line| line.strip_prefix("sweep_abandoned_subjects{kind=\"issue\"} "));
            line.expect("a count").to_owned()
        };
        assert_eq!(counted(world), "2");
        command_at(&world.url, ["exempt", "add", "issue", &exempt.0, "--reason", "we know"]).run().done();
        assert_eq!(counted(world), "1");
        let comments = if world.on == On::Paperclip { "issue_comments" } else { "comments" };
        world.run(&format!("delete from {comments} where issue_id = '{deleted}'"));
        world.run(&format!("delete from issues where id = '{deleted}'"));
        assert_eq!(counted(world), "0");
        assert_eq!(world.count("recoveries where settled_at is null"), 1);
    }

    fn it_is_something_that_was_done(world) {
        idle_with(world, "terminated", 70);
        let codes = [0, 1].map(|_| sweep_at(&world.url, ["--detailed-exitcode"]).run().code);
        assert_eq!(codes, [2, 0]);
    }

    fn a_dry_run_says_what_would_be_reported_and_a_plan_reports_it(world) {
        let issue = idle_with(world, "terminated", 70);
        let plan = world.dry_run();
        assert_eq!((plan.outcome(&issue), world.count("recoveries")), ("abandoned", 0));
        let plan = sweep::sweep::plan::Plan::read(plan.json.to_string().as_bytes()).expect("a plan");
        let apply = Options { selection: sweep::sweep::Selection::Plan(Box::new(plan)), ..world.options() };
        assert_eq!(world.sweep_as(&apply).outcome(&issue), "abandoned");
    }

    /// An escalation has told people already.
    fn what_was_escalated_is_not_reported_as_abandoned_as_well(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let mut settings = world.options();
        settings.policy.escalation = sweep::rules::Escalation::CommentOnly;
        settings.policy.attempts_max = 0;
        assert_eq!(world.sweep_as(&settings).outcome(&issue), "escalated");
        world.set("agents", &agent, "status = 'terminated'");
        world.pass(120);
        assert_eq!(world.sweep_as(&settings).outcome(&issue), "skipped");
    }

    fn the_status_lists_it_until_somebody_has_it(world) {
        let issue = idle_with(world, "terminated", 70);
        world.sweep();
        let out = command_at(&world.url, ["status"]).run().done().out;
        assert!(out.contains("1 subject is abandoned: the agent is gone or cannot be woken"), "{out}");
        let json = command_at(&world.url, ["status", "--output", "json"]).run().done().json();
        assert_eq!((&json["abandoned"][0]["id"], &json["abandoned_total"]), (&issue.0.clone().into(), &1.into()));
        assert_eq!(json["kinds"]["issues"]["abandoned"], 1);
        world.set("issues", &issue, "status = 'done'");
        world.sweep();
        assert!(!command_at(&world.url, ["status"]).run().done().out.contains("is abandoned"));
    }
}

mod wakes {
    use super::*;

    on_each_database! {
        /// Nobody took the wake up, so it was no attempt.
        fn of_an_agent_that_was_terminated_are_no_attempts_of_the_next_one(world) {
            let [first, second] = [world.agent("idle"), world.agent("idle")];
            let issue = world.orphan(&first);
            assert_eq!(world.sweep().outcome(&issue), "continued");
            world.set("agents", &first, "status = 'terminated'");
            world.pass(70);
            assert_eq!(world.sweep().outcome(&issue), "abandoned");
            world.set("issues", &issue, &format!("assignee_agent_id = '{second}'"));
            let swept = world.sweep();
            assert_eq!((swept.outcome(&issue), &swept.subject(&issue)["attempt"]), ("continued", &1.into()));
            assert_eq!(world.sweep().outcome(&issue), "healthy");
        }

        /// An agent may be paused in the middle of its run.
        fn whose_runs_are_live_hold_back_their_issue_whatever_became_of_the_agent(world) {
            let [waker, idle] = [world.agent("idle"), world.agent("idle")];
            let issue = world.orphan(&idle);
            let wake = world.issue_wake(&issue, &waker, "claimed", 30);
            let run = world.issue_run(&issue, &waker, "running", 29);
            world.run(&format!("update runs set wake_id = '{wake}', issue_id = null where id = '{run}'"));
            for status in ["paused", "terminated"] {
                world.set("agents", &waker, &format!("status = '{status}'"));
                assert_eq!(world.sweep().outcome(&issue), "healthy", "{status}");
            }
        }
    }
}

#[test]
fn work_of_a_terminated_agent_uses_up_nothing_of_what_the_guard_counts() {
    let mut world = World::new(On::Sqlite);
    let gone = world.agent("terminated");
    world.orphans(&gone, 0..700);
    world.run("update issues set started_at = '2026-01-01T00:00:00.000Z', updated_at = '2026-01-01T00:00:00.000Z'");
    for n in 1..=11 {
        let agent = world.agent("idle");
        world.orphans(&agent, n * 1000..n * 1000 + 100);
    }
    let ran = sweep_at(&world.url, ["--dry-run", "--set", "guard_share=0.5"]).run();
    assert_eq!(ran.code, 4, "{ran}");
    assert!(ran.out.contains("Guard: at least 1001 of the 1800 issues"), "{ran}");
}

mod people {
    use super::*;

    on_each_database! {
        fn are_notified_once_by_default(world) {
            let receiver = Receiver::new();
            idle_with(world, "terminated", 70);
            for _ in 0..3 {
                let sweep = sweep_at(&world.url, []).env("SWEEP_SLACK_URL", receiver.url());
                sweep.env("SWEEP_NOTIFY_PRIVATE", "on").run().done();
            }
            let reported = receiver.received();
            assert_eq!(reported.len(), 1, "{reported:?}");
            let text = reported[0]["text"].as_str().expect("a text");
            assert!(text.contains(" is abandoned, nobody goes on with it: Ada is terminated"), "{text}");
        }

        fn a_step_and_a_session_of_nobody_who_could_go_on_are_reported_as_well(world) {
            let agent = world.agent("terminated");
            let (_, step) = world.stalled_step(Some(&agent));
            let session = world.session(Some(&agent), None);
            world.pass(70);
            let swept = world.sweep();
            assert_eq!((swept.outcome(&step), swept.outcome(&session)), ("abandoned", "abandoned"), "{}", swept.json);
            assert_eq!(world.count("session_commands") + world.count("wakes"), 0);
        }
    }
}
