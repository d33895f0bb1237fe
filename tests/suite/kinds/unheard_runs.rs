//! Runs that keep work live without ever having shown a sign of life: people are shown each of them, once.

use sweep::rules::Id;

use super::signs_of_life::at_work;
use crate::support::in_process::sweep_once;
use crate::support::world::{World, on_each_database};

/// The subjects of the runs that `attention` shows because they never showed a sign of life.
fn shown(world: &World) -> Vec<String> {
    let attention = world.attention();
    let items = attention["items"].as_array().expect("items").iter();
    let unheard = items.filter(|item| item["what"] == "unheard_run");
    unheard.map(|item| item["id"].as_str().expect("an id").to_owned()).collect()
}

/// A run of two hours ago, which names only what these columns say.
fn unheard(world: &mut World, agent: &Id, columns: &str, values: &str) -> Id {
    let (run, began) = (Id::generate(), world.ago(120));
    world.run(&format!(
        "insert into runs (id, agent_id, {columns}, created_at) values ('{run}', '{agent}', {values}, {began})"
    ));
    run
}

/// An issue in progress with a plan, whose only step is `completed`.
fn issue_with_a_step_that_is_done(world: &mut World, agent: &Id) -> (Id, Id) {
    let issue = world.orphan(agent);
    let (plan, step) = world.stalled_step(Some(agent));
    world.set("plans", &plan, &format!("issue_id = '{issue}'"));
    world.set("plan_steps", &step, "status = 'completed'");
    (issue, step)
}

on_each_database! {
    /// P19
    fn a_run_is_shown_with_the_work_that_it_keeps_live_however_it_names_that(world) {
        let agent = world.agent("running");
        let mut expected = Vec::new();

        let (_, step) = world.stalled_step(Some(&agent));
        let wake = Id::generate();
        world.run(&format!(
            "insert into wakes (id, agent_id, plan_step_id, reason, requested_by, status)
             values ('{wake}', '{agent}', '{step}', 'work', 'us', 'claimed')"
        ));
        unheard(world, &agent, "wake_id, status", &format!("'{wake}', 'running'"));
        expected.push(step);

        let issue = world.orphan(&agent);
        let run = unheard(world, &agent, "status", "'running'");
        world.set("issues", &issue, &format!("checkout_run_id = '{run}'"));
        expected.push(issue);

        for status in ["queued", "scheduled_retry"] {
            let issue = world.orphan(&agent);
            unheard(world, &agent, "issue_id, status", &format!("'{issue}', '{status}'"));
            expected.push(issue);
        }

        let (issue, step) = issue_with_a_step_that_is_done(world, &agent);
        unheard(world, &agent, "issue_id, plan_step_id, status", &format!("'{issue}', '{step}', 'running'"));
        expected.push(issue);
        let (issue, step) = issue_with_a_step_that_is_done(world, &agent);
        unheard(world, &agent, "plan_step_id, status", &format!("'{step}', 'running'"));
        expected.push(issue);

        let issue = world.orphan(&agent);
        unheard(world, &agent, "issue_id, status", &format!("'{issue}', 'running'"));
        let another = world.agent("running");
        world.session(Some(&another), Some(&issue));
        expected.push(issue);

        let mut shown = shown(world);
        shown.sort();
        let mut expected: Vec<String> = expected.into_iter().map(|id| id.0).collect();
        expected.sort();
        assert_eq!(shown, expected);
    }

    /// P19: a sign of life in the year 9999 would keep its work live until then.
    fn a_run_whose_signs_of_life_lie_far_in_the_future_is_shown(world) {
        let ahead = world.ago(-60 * 24 * 365);
        for columns in ["heartbeat_at = ahead", "lease_seconds = 60, heartbeat_at = ahead", "created_at = ahead"] {
            let (issue, run) = at_work(world, &columns.replace("ahead", &ahead));
            world.pass(120);
            assert_eq!(shown(world), [issue.0.as_str()], "{columns}");
            world.end_run(&run);
        }
    }

    /// P19: the issue's row is touched by people and programs while the run goes on.
    fn people_are_notified_of_a_run_once_whatever_happens_to_its_issue(world) {
        let (issue, _) = at_work(world, "heartbeat_at = null");
        let notifying = world.notifying(&[("SWEEP_WEBHOOK_URL", "https://example.com")]);
        world.pass(120);
        for _ in 0..3 {
            sweep_once(&notifying.sweep);
            world.pass(120);
            let touched = world.ago(61);
            world.set("issues", &issue, &format!("updated_at = {touched}"));
        }
        assert_eq!(world.count("notifications where event = 'run_unheard'"), 1);
        let attention = world.attention();
        let why = attention["items"][0]["why"].as_str().expect("words");
        assert!(why.contains("running for 8h 50m without"), "since the run began: {why}");
    }
}
