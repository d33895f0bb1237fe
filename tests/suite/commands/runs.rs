//! `sweep run`: a shell script takes a wake, says that its run lives, and ends it; what a sweep has taken it leaves.

use rstest::rstest;
use serde_json::json;
use sweep::rules::Id;

use crate::support::program::{Ran, command_at};
use crate::support::scratch::Role;
use crate::support::world::{On, World, on_each_database};

const TAKEN: i32 = 1;
const USAGE: i32 = 64;
const CONFIG: i32 = 78;

fn run_at(url: &str, line: &str) -> Ran {
    command_at(url, ["run"].into_iter().chain(line.split_whitespace())).run()
}

fn run(world: &World, line: &str) -> Ran {
    run_at(&world.url, line)
}

/// What a start prints: the run, its issue and its step.
fn started(world: &World) -> [String; 3] {
    let printed = run(world, "start --lease 5m").done().out;
    let words: Vec<String> = printed.trim_end().split(' ').map(str::to_owned).collect();
    words.try_into().unwrap_or_else(|_| panic!("{printed}"))
}

/// An issue that a sweep has woken, and the run that took its wake.
fn at_work(world: &mut World) -> (Id, Id) {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    world.sweep();
    let [run, of, step] = started(world);
    assert_eq!((of, step.as_str()), (issue.0.clone(), "-"));
    (issue, Id(run))
}

/// The last sign of life of all runs was six minutes ago.
fn leases_run_out(world: &mut World) {
    let long_ago = world.ago(6);
    world.run(&format!("update runs set heartbeat_at = {long_ago} where status = 'running'"));
}

fn is_silent(ran: Ran) {
    assert_eq!(ran.done().out, "");
}

fn refused_as_taken(ran: Ran, run: &Id) {
    ran.refused(TAKEN, &[&format!("the run {run} is not running any more: nothing was changed")]);
}

on_each_database! {
    fn a_wake_becomes_a_run_that_is_heard_of_and_ends_with_its_issue_in_review(world) {
        let (issue, id) = at_work(world);
        let taken = world.count("wakes where status = 'completed'");
        assert_eq!((world.status("runs", &id).as_str(), taken), ("running", 1));
        assert_eq!(world.count("runs join wakes w on w.id = wake_id where lease_seconds = 300"), 1);
        leases_run_out(world);
        is_silent(run(world, &format!("heartbeat {id}")));
        assert!(["healthy", "not examined"].contains(&world.sweep().outcome(&issue)), "it was heard of in time");

        is_silent(run(world, &format!("end {id} succeeded --done")));

        assert_eq!(world.status("runs", &id), "succeeded");
        assert_eq!(world.status("issues", &issue), "in_review");
        assert_eq!(world.count("runs where finished_at is not null"), 1);
        assert_eq!(world.sweep().outcome(&issue), "recovered");
    }

    fn a_run_of_a_step_ends_with_its_step_completed(world) {
        let agent = world.agent("idle");
        let (_, step) = world.stalled_step(Some(&agent));
        world.sweep();

        let begun = run(world, "start --output json").done().json();

        let id = begun["run"].as_str().expect("a run");
        assert_eq!(begun, json!({ "schema": 1, "run": id, "agent": agent, "issue": null, "step": step }));
        assert_eq!(world.count("runs where lease_seconds is null and heartbeat_at is not null"), 1);
        is_silent(run(world, &format!("end {id} succeeded --done")));
        assert_eq!(world.status("plan_steps", &step), "completed");
        assert_eq!(world.sweep().outcome(&step), "recovered");
    }

    fn the_oldest_wake_is_taken_first_until_none_is_queued(world) {
        let agent = world.agent("idle");
        let issues = [5, 10].map(|minutes| {
            let issue = world.orphan(&agent);
            world.issue_wake(&issue, &agent, "queued", minutes);
            issue.0
        });
        let taken = [(); 2].map(|()| started(world)[1].clone());
        assert_eq!(taken, [issues[1].clone(), issues[0].clone()]);
        run(world, "start").refused(TAKEN, &["no wake is queued"]);
    }

    fn however_a_run_ends_its_work_is_as_it_was_unless_it_is_done(world) {
        for end in ["succeeded", "interrupted", "failed", "cancelled", "timed_out"] {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            world.issue_wake(&issue, &agent, "queued", 0);
            let [id, ..] = started(world);
            is_silent(run(world, &format!("end {id} {end}")));
            assert_eq!(world.status("runs", &Id(id)), end);
            assert_eq!(world.status("issues", &issue), "in_progress", "{end}");
        }
    }

    fn work_that_was_done_with_meanwhile_stays_as_it_is(world) {
        for status in ["blocked", "done", "cancelled"] {
            let (issue, id) = at_work(world);
            world.set("issues", &issue, &format!("status = '{status}'"));
            is_silent(run(world, &format!("end {id} succeeded --done")));
            assert_eq!(world.status("issues", &issue), status);
        }
    }

    /// P19
    fn what_a_sweep_has_taken_neither_lives_nor_ends_any_more(world) {
        let (issue, id) = at_work(world);
        leases_run_out(world);
        world.pass(10);
        world.sweep();
        let rows = |world: &mut World| {
            [("status || finished_at || heartbeat_at", "runs"), ("status || updated_at", "issues")]
                .map(|(values, table)| world.text(values, table))
        };
        let before = rows(world);
        assert_eq!(world.status("runs", &id), "interrupted", "{issue}");

        for line in [format!("heartbeat {id}"), format!("end {id} succeeded --done"), format!("end {id} failed")] {
            refused_as_taken(run(world, &line), &id);
        }

        assert_eq!(rows(world), before);
    }

    /// A queued run keeps its issue live until somebody ends that run, and `sweep attention` says how.
    fn a_run_that_never_began_ends_too(world) {
        for status in ["queued", "scheduled_retry"] {
            let (_, id) = at_work(world);
            world.set("runs", &id, &format!("status = '{status}'"));
            run(world, &format!("heartbeat {id}")).refused(1, &["is not running any more"]);
            is_silent(run(world, &format!("end {id} interrupted")));
            assert_eq!(world.status("runs", &id), "interrupted");
        }
    }

    fn a_run_ends_once(world) {
        let (_, id) = at_work(world);
        is_silent(run(world, &format!("end {id} failed")));
        refused_as_taken(run(world, &format!("end {id} succeeded --done")), &id);
        assert_eq!(world.status("runs", &id), "failed");
    }

    fn of_eight_that_start_at_once_each_wake_has_one(world) {
        let agent = world.agent("idle");
        for _ in 0..5 {
            let issue = world.orphan(&agent);
            world.issue_wake(&issue, &agent, "queued", 0);
        }
        let mut programs: Vec<_> = (0..8).map(|_| command_at(&world.url, ["run", "start"])).collect();
        let started: Vec<_> = programs.iter_mut().map(|program| program.start()).collect();
        let ends = programs.into_iter().zip(started);
        let mut codes: Vec<i32> =
            ends.map(|(program, child)| program.ended(child.wait_with_output().expect("an end")).code).collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 0, 0, 0, 0, TAKEN, TAKEN, TAKEN]);
        assert_eq!((world.count("runs"), world.count("(select distinct wake_id from runs) as taken")), (5, 5));
    }

    fn a_run_that_does_not_exist_is_told_from_one_that_was_taken(world) {
        for unknown in [Id::generate().0, "ACM-12".to_owned()] {
            for line in [format!("heartbeat {unknown}"), format!("end {unknown} failed")] {
                run(world, &line).refused(USAGE, &[&format!("there is no run {unknown} in this database")]);
            }
        }
    }

    fn what_was_done_about_a_run_is_answered_in_json(world) {
        let (_, id) = at_work(world);
        for [verb, status] in [["heartbeat", ""], ["end", " succeeded"]] {
            let answered = run(world, &format!("{verb} {id}{status} --output json")).done().json();
            let done = json!({ "schema": 1, "command": format!("run {verb}"), "done": [id], "failed": [] });
            assert_eq!(answered, done);
        }
    }
}

#[rstest]
#[case::no_run("heartbeat", "RUN is missing")]
#[case::no_status("end 1", "STATUS is missing")]
#[case::not_ended("end 1 running", "expected succeeded, interrupted, failed, cancelled or timed_out")]
#[case::a_lease_without_a_unit("start --lease 5", "expected a duration")]
#[case::no_lease("start --lease 0s", "at least 1s")]
#[case::half_a_second("start --lease 1500ms", "expected whole seconds")]
#[case::a_lifetime("start --lease 80y", "at most ten years")]
#[case::another_format("start --output ndjson", "expected table or json")]
fn an_argument_that_is_wrong_is_refused(#[case] line: &str, #[case] says: &str) {
    run_at("sqlite://no.db", line).refused(USAGE, &[says]);
}

#[test]
fn a_host_that_has_runs_of_its_own_keeps_them_to_itself() {
    let mut world = World::new(On::Paperclip);
    let (_, id) = world.issue_at_work();
    for line in ["start".to_owned(), format!("heartbeat {id}"), format!("end {id} failed")] {
        run(&world, &line).refused(USAGE, &["has runs of its own: sweep run is for sweep's own tables"]);
    }
}

#[test]
fn a_role_without_the_rights_is_told_what_it_lacks() {
    let role = Role::new();
    let mut world = World::new(On::Postgres);
    let (issue, id) = at_work(&mut world);
    let (name, url) = (&role.name, role.at(&world.url));
    world.run(&format!("grant usage on schema sweep to {name}; grant select on all tables in schema sweep to {name}"));
    let lacks = ["lacks rights", "UPDATE on sweep.wakes", "INSERT on sweep.runs"];
    run_at(&url, &format!("heartbeat {id}")).refused(CONFIG, &lacks);
    world.run(&format!("grant update on sweep.wakes to {name}; grant insert, update on sweep.runs to {name}"));
    is_silent(run_at(&url, &format!("heartbeat {id}")));
    run_at(&url, &format!("end {id} succeeded --done")).refused(CONFIG, &["issues"]);
    assert_eq!((world.status("runs", &id), world.status("issues", &issue)), ("running".into(), "in_progress".into()));
    world.run(&format!("grant update on sweep.issues to {name}"));
    is_silent(run_at(&url, &format!("end {id} succeeded --done")));
}
