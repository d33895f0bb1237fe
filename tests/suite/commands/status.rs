//! `sweep status`: what it counts, what it calls urgent, and that it reads and writes nothing, whatever the rows hold.

use serde_json::Value;
use sweep::conclusion::Conclusion;
use sweep::rules::{Id, Policy};
use sweep::store::work::ledger::{self, Closing, Opening, SweepEnd};
use sweep::store::{Access, Db, Timeouts};

use crate::support::world::{On, World, on_each_database, on_each_host};

mod lists;
mod plans;
mod printed;
mod program;
mod sample;

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().map(|row| row["id"].as_str().expect("an id")).collect()
}

/// A sweep that ended so.
fn ended_sweep(world: &mut World, minutes: i64, ended: SweepEnd, conclusion: Conclusion, partial: bool) {
    let id = Id::generate();
    let policy = Policy::default();
    let record = |db: &mut Db| -> diesel::QueryResult<()> {
        let opening = Opening { began_at: db.now()?, is_restricted: partial, shard: None, policy: &policy };
        ledger::open_sweep(db, &id, "native", &opening)?;
        let counts = serde_json::json!({});
        ledger::close_sweep(db, &id, Closing { ended, conclusion, partial, counts, idle: false, oldest_left: None })
    };
    world.connect_as_sweep().in_transaction(Access::Write, &Timeouts::default(), record).expect("a sweep");
    let at = world.ago(minutes);
    world.run(&format!("update sweeps set started_at = {at}, finished_at = {at} where id = '{id}'"));
}

on_each_host! {
    fn an_empty_database_was_never_swept_and_needs_nothing(world) {
        let shown = world.status_document();

        assert_eq!(shown["schema"], 1);
        let sweeper = &shown["sweeper"];
        let last_success = (&sweeper["last_success_at"], &sweeper["last_success_age_seconds"]);
        assert_eq!((last_success, &sweeper["sweeps"]), ((&Value::Null, &Value::Null), &serde_json::json!([])));
        for list in ["orphans", "escalations", "plans", "stuck_wakes", "quarantined"] {
            assert_eq!(shown[list], serde_json::json!([]), "{list}");
        }
        assert_eq!(shown["kinds"]["issues"]["provided"], true);
        assert_eq!(shown["kinds"]["steps"]["provided"], world.on != On::Paperclip);
        assert_eq!(shown["effect"]["continuations"], 0);
    }

    fn work_is_counted_by_its_state_and_the_oldest_orphans_come_first(world) {
        let (agent, paused) = (world.agent("idle"), world.agent("paused"));
        let (young, old, stuck) = (world.orphan(&agent), world.orphan(&agent), world.orphan(&agent));
        let long_ago = world.ago(600);
        world.set("issues", &old, &format!("updated_at = {long_ago}"));
        world.issue_wake(&stuck, &agent, "queued", 300);
        for status in ["running", "queued"] {
            let issue = world.orphan(&agent);
            world.issue_run(&issue, &agent, status, 5);
        }
        world.orphan(&paused);

        let shown = world.status_document();

        let issues = &shown["kinds"]["issues"];
        for (state, n) in [
            ("active", 2),
            ("queued", 1),
            ("waiting", 0),
            ("skipped", 1),
            ("orphaned", 2),
            ("escalated", 0),
            ("exempt", 0),
        ] {
            assert_eq!(issues[state], n, "{state}: {issues}");
        }
        assert_eq!(ids(&shown["orphans"]), [&old.0, &young.0]);
        assert_eq!((&shown["orphans_total"], &shown["orphans"][0]["agent"]), (&2.into(), &"Ada".into()));
        let age = shown["orphans"][0]["age_seconds"].as_i64().expect("an age");
        assert!((36_000..36_100).contains(&age), "{age}");
        assert_eq!(shown["stuck_wakes"][0]["id"], stuck.0);
        assert_eq!(shown["stuck_wakes_total"], 1);
    }

    fn of_many_orphans_the_oldest_are_listed_and_all_are_counted(world) {
        let agent = world.agent("idle");
        world.run("begin");
        let issues: Vec<Id> = (0..60).map(|_| world.orphan(&agent)).collect();
        let long_ago = world.ago(6000);
        world.set("issues", &issues[59], &format!("updated_at = {long_ago}"));
        world.run("commit");

        let shown = world.status_document();

        assert_eq!((&shown["orphans_total"], &shown["kinds"]["issues"]["orphaned"]), (&60.into(), &60.into()));
        assert_eq!(ids(&shown["orphans"]).len(), 50);
        assert_eq!(shown["orphans"][0]["id"], issues[59].0);
    }

    fn an_escalation_is_open_until_a_person_answers(world) {
        let agent = world.agent("idle");
        let issue = world.escalated_issue(&agent);

        let shown = world.status_document();

        assert_eq!(ids(&shown["escalations"]), [&issue.0]);
        assert_eq!(shown["escalations"][0]["why"], "no attempt is left");
        assert_eq!(shown["kinds"]["issues"]["escalated"], 1);
        world.set("issues", &issue, "status = 'done'");
        assert_eq!(world.status_document()["escalations_total"], 0);
    }

    fn the_last_sweeps_and_what_came_of_their_continuations_are_reported(world) {
        let agent = world.agent("idle");
        let issues: Vec<Id> = (0..6).map(|_| world.orphan(&agent)).collect();
        let run = world.issue_run(&issues[3], &agent, "failed", 50);
        world.sweep();
        assert_eq!(world.status_document()["effect"]["still_open"], 6);
        world.end_continuations("failed");
        world.pass(10);
        world.set("issues", &issues[0], "status = 'done'");
        world.set("issues", &issues[1], "status = 'done'");
        world.set("issues", &issues[4], "status = 'blocked'");
        world.set("issues", &issues[5], "assignee_user_id = 'grace', assignee_agent_id = null");
        world.issue_wake(&issues[3], &agent, "queued", 5);
        let runs = if world.on == On::Paperclip { "heartbeat_runs" } else { "runs" };
        let at = world.ago(1);
        world.set(runs, &run, &format!("status = 'succeeded', finished_at = {at}"));
        world.sweep();

        let shown = world.status_document();

        let effect = &shown["effect"];
        for (what, n) in [
            ("continuations", 6),
            ("recovered", 2),
            ("handed_over", 2),
            ("escalated", 1),
            ("continued_again", 0),
            ("still_open", 1),
            ("false_rescues", 1),
        ] {
            assert_eq!(effect[what], n, "{what}: {effect}");
        }
        let sweeps = shown["sweeper"]["sweeps"].as_array().expect("sweeps");
        assert_eq!(sweeps.len(), 2);
        assert_eq!((&sweeps[0]["recovered"], &sweeps[0]["handed_over"]), (&2.into(), &2.into()));
        assert_eq!((&sweeps[0]["escalated"], &sweeps[1]["continued"]), (&1.into(), &6.into()));
        assert_eq!(
            (&sweeps[0]["ended"], &sweeps[0]["failed"], &sweeps[0]["deferred"]),
            (&"completed".into(), &0.into(), &0.into())
        );
        assert!(sweeps[0]["duration_ms"].as_i64().is_some_and(|ms| 0 <= ms));
        let age = shown["sweeper"]["last_success_age_seconds"].as_i64().expect("a success");
        assert!(age < 60, "{age}");
        let week = world.ago(60 * 24 * 8);
        world.run(&format!("update recoveries set created_at = {week}"));
        assert_eq!(world.status_document()["effect"]["continuations"], 0, "eight days ago");
    }

    fn a_success_is_a_whole_sweep_that_did_all_it_had_to(world) {
        let age =
            |world: &World| world.status_document()["sweeper"]["last_success_age_seconds"].as_i64().map(|seconds| seconds / 60);
        let whole = |ended, conclusion| (ended, conclusion, false);
        for (minutes, (ended, conclusion, partial), expected) in [
            (900, whole(SweepEnd::Completed, Conclusion::SomeFailed), None),
            (700, whole(SweepEnd::Completed, Conclusion::Done), Some(700)),
            (600, whole(SweepEnd::Completed, Conclusion::Changed), Some(600)),
            (500, (SweepEnd::Completed, Conclusion::Done, true), Some(600)),
            (400, whole(SweepEnd::Failed, Conclusion::Unavailable), Some(600)),
            (350, whole(SweepEnd::Interrupted, Conclusion::Terminated), Some(600)),
            (300, whole(SweepEnd::Completed, Conclusion::Guarded), Some(600)),
        ] {
            ended_sweep(world, minutes, ended, conclusion, partial);
            assert_eq!(age(world), expected, "{minutes}");
        }
        let (id, at) = (Id::generate(), world.ago(200));
        world.run(&format!("insert into sweeps (id, host, version, started_at, finished_at) values ('{id}', 'x', '0', \
            {at}, {at})"));
        assert_eq!(age(world), Some(600), "one that was killed has not succeeded");
    }

    fn quarantined_rows_and_exemptions_are_reported(world) {
        let agent = world.agent("idle");
        let (one, other, third) = (world.orphan(&agent), world.orphan(&agent), world.orphan(&agent));
        let (hour, tomorrow) = (world.ago(60), world.ago(-1440));
        world.run(&format!("insert into failures (kind, subject_id, sweeps, reason, quarantined_at) values
            ('issue', '{one}', 3, 'no plausible time', {hour}), ('issue', '{other}', 1, 'once', null)"));
        world.run(&format!("insert into exemptions (kind, subject_id, reason, until) values
            ('issue', '{one}', 'a', null), ('issue', '{other}', 'b', {tomorrow}), ('issue', '{third}', 'c', {hour})"));

        let shown = world.status_document();

        assert_eq!((ids(&shown["quarantined"]), &shown["quarantined_total"]), (vec![one.0.as_str()], &1.into()));
        assert_eq!(shown["quarantined"][0]["why"], "no plausible time");
        let name = world.text("identifier", &format!("issues where id = '{one}'")).expect("one");
        assert_eq!(shown["quarantined"][0]["identifier"], name);
        assert_eq!(shown["exemptions"], serde_json::json!({"holding": 2, "expired": 1}));
        let issues = &shown["kinds"]["issues"];
        assert_eq!((&issues["exempt"], &issues["orphaned"]), (&2.into(), &1.into()));
    }
}

mod tenants_and_plans {
    use super::*;

    on_each_database! {
        fn one_tenants_work_can_be_shown_alone(world) {
            let agent = world.agent("idle");
            let (ours, theirs) = (world.orphan(&agent), world.orphan(&agent));
            world.set("issues", &theirs, "tenant = 'it''s theirs'");
            let (plan, step) = world.stalled_step(Some(&agent));
            world.set("plans", &plan, "tenant = 'it''s theirs'");

            let shown = world.status_document_of(Some("it's theirs"));

            assert_eq!(
                (ids(&shown["orphans"]), &shown["orphans_total"]),
                (vec![step.0.as_str(), theirs.0.as_str()], &2.into())
            );
            assert_eq!(ids(&shown["plans"]), [&plan.0]);
            assert_eq!(ids(&world.status_document_of(Some("default"))["orphans"]), [&ours.0]);
            assert_eq!(world.status_document()["orphans_total"], 3);
        }

        fn plans_with_a_stalled_step_are_reported_with_how_long_they_are_stuck(world) {
            let agent = world.agent("idle");
            let (plan, step) = world.stalled_step(Some(&agent));
            let (healthy, young) = world.stalled_step(Some(&agent));
            let now = world.ago(5);
            world.set("plan_steps", &young, &format!("started_at = {now}"));

            let shown = world.status_document();

            assert_eq!(ids(&shown["plans"]), [&plan.0]);
            assert!(!ids(&shown["plans"]).contains(&healthy.0.as_str()));
            let plan_shown = &shown["plans"][0];
            assert_eq!(
                (&plan_shown["title"], &plan_shown["stored"], &plan_shown["derived"]),
                (&"Launch".into(), &"executing".into(), &"stalled".into())
            );
            assert_eq!(plan_shown["current_step"], serde_json::json!([1, "Pack"]));
            assert!(plan_shown["stuck_seconds"].as_i64().is_some_and(|seconds| (7200..7300).contains(&seconds)));
            let steps = &shown["kinds"]["steps"];
            assert_eq!((&steps["stalled"], &steps["active"]), (&1.into(), &1.into()));
            assert_eq!(ids(&shown["orphans"]), [&step.0]);
        }
    }
}
