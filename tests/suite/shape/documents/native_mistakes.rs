//! What docs/native.md says that sweep sees when a control plane forgets something.

use chrono::TimeDelta;
use sweep::rules::{Id, Policy};
use sweep::sweep::Options;

use crate::support::in_process::Swept;
use crate::support::world::{World, on_each_database};

/// Makes an orphan whose agent began a run an hour ago, of which nothing was written since: `(issue, run)`.
fn begun(world: &mut World, status: &str) -> (Id, Id) {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let run = world.issue_run(&issue, &agent, status, 60);
    (issue, run)
}

/// Sweeps without a grace or a delay.
fn sweep_impatiently(world: &World) -> Swept {
    let policy = Policy { orphan_grace: TimeDelta::zero(), retry_delay: TimeDelta::zero(), ..world.options().policy };
    world.sweep_as(&Options { policy, ..world.options() })
}

/// Does what a careless runner does: it takes the wake, and its run fails.
fn run_fails(world: &mut World, issue: &Id, wake: &str) {
    let (id, ended) = (Id::generate(), world.ago(1));
    world.run("update wakes set status = 'completed'");
    world.run(&format!(
        "insert into runs (id, agent_id, issue_id, wake_id, status, finished_at)
         select '{id}', assignee_agent_id, id, {wake}, 'failed', {ended} from issues where id = '{issue}'"
    ));
}

on_each_database! {
    fn a_wake_that_is_claimed_and_never_started_keeps_its_issue_from_being_woken_and_is_reported_as_stuck(world) {
        let agent = world.agent("idle");
        let (young, old) = (world.orphan(&agent), world.orphan(&agent));
        world.issue_wake(&young, &agent, "claimed", 30);
        world.issue_wake(&old, &agent, "claimed", 90);
        let swept = world.sweep();
        assert_eq!((swept.outcome(&young), swept.outcome(&old)), ("healthy", "waiting"), "{}", swept.json);
        assert!(swept.subject(&old)["reason"].as_str().is_some_and(|reason| reason.contains("stuck wake")));
    }

    fn a_wake_that_stays_queued_is_there_for_the_next_runner(world) {
        let (issue, _) = begun(world, "failed");
        world.sweep();
        world.run(&format!("insert into runs (id, agent_id, issue_id, wake_id, status)
            select '{}', agent_id, issue_id, id, 'running' from wakes", Id::generate()));
        assert_eq!(world.count(&format!("wakes where status = 'queued' and issue_id = '{issue}'")), 1);
    }

    fn a_run_without_its_wake_begins_the_count_of_attempts_anew(world) {
        let (careless, _) = begun(world, "failed");
        world.sweep();
        for attempt in 2..=4 {
            run_fails(world, &careless, "null");
            let swept = sweep_impatiently(world);
            assert_eq!(swept.outcome(&careless), "continued", "{attempt}: {}", swept.json);
            assert_eq!(swept.subject(&careless)["attempt"], 1);
        }
        run_fails(world, &careless, "null");
        assert_eq!(sweep_impatiently(world).outcome(&careless), "escalated", "the attempts of a day are used up");
    }

    fn a_run_with_its_wake_is_the_attempt_itself(world) {
        let (issue, _) = begun(world, "failed");
        world.sweep();
        run_fails(world, &issue, &format!("(select id from wakes where issue_id = '{issue}')"));
        assert_eq!(sweep_impatiently(world).outcome(&issue), "escalated");
    }

    fn a_run_that_names_no_issue_works_on_none(world) {
        let (issue, run) = begun(world, "running");
        world.set("runs", &run, "issue_id = null");
        assert_eq!(world.sweep().outcome(&issue), "continued");
    }

    fn a_run_that_names_the_wake_of_a_step_works_on_that_step(world) {
        let agent = world.agent("idle");
        let (_, step) = world.stalled_step(Some(&agent));
        assert_eq!(world.sweep().outcome(&step), "continued");
        world.run("update wakes set status = 'completed'");
        world.run(&format!("insert into runs (id, agent_id, wake_id, status)
            select '{}', agent_id, id, 'running' from wakes", Id::generate()));
        assert_eq!(sweep_impatiently(world).outcome(&step), "healthy");
    }

    fn a_run_that_is_running_is_at_work_for_ever_whatever_its_end_says(world) {
        let ((dead, _), (ended, run)) = (begun(world, "running"), begun(world, "running"));
        let month = world.ago(43_200);
        world.run(&format!("update runs set created_at = {month}"));
        world.set("runs", &run, &format!("finished_at = {month}"));
        let swept = world.sweep();
        assert_eq!((swept.outcome(&dead), swept.outcome(&ended)), ("not examined", "not examined"));
    }

    fn a_run_without_its_end_counts_as_if_it_had_ended_when_it_began(world) {
        let ((with, run), (without, _)) = (begun(world, "failed"), begun(world, "failed"));
        let now = world.ago(0);
        world.set("runs", &run, &format!("finished_at = {now}"));
        let swept = world.sweep();
        assert_eq!((swept.outcome(&with), swept.outcome(&without)), ("healthy", "continued"));
    }

    fn a_change_without_updated_at_is_no_sign_of_life(world) {
        let agent = world.agent("idle");
        let (silent, reported) = (world.orphan(&agent), world.orphan(&agent));
        let now = world.ago(0);
        world.set("issues", &silent, "title = 'Mend the gate'");
        world.set("issues", &reported, &format!("title = 'Mend the gate', updated_at = {now}"));
        let swept = world.sweep();
        assert_eq!((swept.outcome(&silent), swept.outcome(&reported)), ("continued", "healthy"));
    }

    fn a_time_that_is_ahead_is_a_sign_of_life_until_then_and_is_reported(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let ahead = world.ago(-60);
        world.set("issues", &issue, &format!("updated_at = {ahead}"));
        let swept = world.sweep();
        assert_eq!(swept.outcome(&issue), "healthy");
        assert_eq!(swept.json["clocks"]["future_subject"], issue.0);
    }

    fn a_wait_without_an_end_lasts_until_it_is_cleared(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "waiting_for = 'an answer'");
        assert_eq!(world.sweep().outcome(&issue), "waiting");
        world.set("issues", &issue, "waiting_for = null");
        assert_eq!(world.sweep().outcome(&issue), "continued");
    }

    fn a_run_that_succeeds_does_not_finish_its_issue(world) {
        let (issue, _) = begun(world, "succeeded");
        assert_eq!(world.sweep().outcome(&issue), "continued");
    }

    fn work_of_an_agent_that_must_not_be_woken_is_reported_and_left(world) {
        for (status, outcome) in [("paused", "skipped"), ("terminated", "abandoned")] {
            let agent = world.agent(status);
            let (issue, (_, step)) = (world.orphan(&agent), world.stalled_step(Some(&agent)));
            let swept = world.sweep();
            assert_eq!((swept.outcome(&issue), swept.outcome(&step)), (outcome, outcome), "{status}");
        }
    }

    fn a_step_without_its_start_is_idle_since_its_last_update(world) {
        let agent = world.agent("idle");
        let ((_, old), (_, young)) = (world.stalled_step(Some(&agent)), world.stalled_step(Some(&agent)));
        let now = world.ago(0);
        world.set("plan_steps", &old, "started_at = null");
        world.set("plan_steps", &young, &format!("started_at = null, updated_at = {now}"));
        let swept = world.sweep();
        assert_eq!((swept.outcome(&old), swept.outcome(&young)), ("continued", "healthy"));
    }

    fn a_plan_that_is_a_draft_is_not_looked_at_and_one_without_an_agent_is_escalated_at_once(world) {
        let agent = world.agent("idle");
        let ((draft, of_draft), (_, of_nobody)) = (world.stalled_step(Some(&agent)), world.stalled_step(None));
        world.set("plans", &draft, "status = 'draft'");
        let swept = world.sweep();
        assert_eq!((swept.outcome(&of_draft), swept.outcome(&of_nobody)), ("not examined", "escalated"));
    }

    fn nothing_is_written_on_the_issue_of_another_tenant(world) {
        let agent = world.agent("idle");
        let (issue, (plan, step)) = (world.orphan(&agent), world.stalled_step(None));
        world.set("issues", &issue, "tenant = 'other', status = 'todo'");
        world.set("plans", &plan, &format!("issue_id = '{issue}'"));
        assert_eq!(world.sweep().outcome(&step), "escalated");
        assert_eq!(world.comments_on(&issue), 0);
    }
}
