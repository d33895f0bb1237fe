//! Longer histories: whatever hosts and people do between two sweeps, sweeps forget nothing, and do nothing without
//! end.

use sweep::rules::{Escalation, Id};

use crate::support::world::{World, on_each_database, on_each_host};

/// Makes another step of the plan, in progress for so many minutes.
fn another_step(world: &mut World, plan: &Id, minutes: i64) -> Id {
    let (id, began) = (Id::generate(), world.ago(minutes));
    world.run(&format!(
        "insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
         values ('{id}', '{plan}', 2, 'Ship', 'in_progress', {began}, {began})"
    ));
    id
}

/// Makes a run that began `minutes` ago and works on a plan step.
fn step_run(world: &mut World, agent: &Id, step: &Id, minutes: i64) -> Id {
    let (id, began) = (Id::generate(), world.ago(minutes));
    world.run(&format!(
        "insert into runs (id, agent_id, plan_step_id, status, created_at)
         values ('{id}', '{agent}', '{step}', 'running', {began})"
    ));
    id
}

on_each_host! {
    fn an_issue_that_starts_in_the_future_is_healthy_until_then(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let tomorrow = world.ago(-1440);
        world.set("issues", &issue, &format!("started_at = {tomorrow}"));

        assert_eq!(world.sweep().outcome(&issue), "healthy");
        world.pass(1500);
        assert_eq!(world.sweep().outcome(&issue), "continued");
    }

    /// A person or a program sets the issue back to work again and again.
    fn in_a_tug_of_war_wakes_and_comments_are_bounded_by_the_day(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        for _ in 0..40 {
            world.sweep();
            world.end_continuations("failed");
            world.set("issues", &issue, "status = 'in_progress'");
            world.pass(6);
        }

        assert_eq!((world.wakes_for(&issue), world.comments_on(&issue)), (4, 4));
    }

    fn an_issue_that_healed_after_its_escalation_is_looked_at_again(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let mut settings = world.options();
        settings.policy.escalation = Escalation::CommentOnly;
        world.sweep_as(&settings);
        world.end_continuations("failed");
        world.pass(10);
        assert_eq!(world.sweep_as(&settings).outcome(&issue), "escalated");
        world.set("issues", &issue, "status = 'in_review'");
        assert_eq!(world.sweep_as(&settings).outcome(&issue), "recovered");
        world.set("issues", &issue, "status = 'in_progress'");
        world.pass(1000);

        assert_eq!(world.sweep_as(&settings).outcome(&issue), "continued");
    }
}

mod on_plans {
    use super::*;

    on_each_database! {
        fn a_plan_goes_on_executing_although_another_old_step_is_still_at_work(world) {
            let agent = world.agent("idle");
            let (plan, healed) = world.stalled_step(Some(&agent));
            let at_work = another_step(world, &plan, 60);
            step_run(world, &agent, &at_work, 50);
            world.sweep();
            world.end_continuations("succeeded");
            world.set("plan_steps", &healed, "status = 'completed'");

            assert_eq!(world.sweep().outcome(&healed), "recovered");
            assert_eq!(world.status("plans", &plan), "executing");
        }

        /// The other step is stalled, and sweep did nothing about it, since its agent is paused.
        fn a_plan_whose_last_stalled_step_heals_by_itself_goes_on_executing(world) {
            let agent = world.agent("idle");
            let (plan, first) = world.stalled_step(Some(&agent));
            let second = another_step(world, &plan, 20);
            world.sweep();
            world.set("agents", &agent, "status = 'paused'");
            world.end_continuations("succeeded");
            world.set("plan_steps", &first, "status = 'completed'");
            world.pass(20);
            let swept = world.sweep();
            assert_eq!((swept.outcome(&first), swept.outcome(&second)), ("healthy", "skipped"));
            assert_eq!(world.status("plans", &plan), "stalled");
            world.set("plan_steps", &second, "status = 'completed'");

            assert_eq!(world.sweep().outcome(&first), "recovered");
            assert_eq!(world.status("plans", &plan), "executing");
        }

        fn a_step_that_was_handed_over_after_its_escalation_is_looked_at_again(world) {
            let (plan, step) = world.stalled_step(None);
            assert_eq!(world.sweep().outcome(&step), "escalated");
            world.set("plans", &plan, "status = 'cancelled'");
            assert_eq!(world.sweep().outcome(&step), "handed_over");
            world.set("plans", &plan, "status = 'executing'");
            world.pass(100);

            assert_eq!(world.sweep().outcome(&step), "escalated");
        }

        fn a_run_for_a_plan_step_that_sweep_woke_is_no_progress_of_the_issue(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let (plan, step) = world.stalled_step(Some(&agent));
            world.set("plans", &plan, "issue_id = null");
            world.sweep();
            world.set("plans", &plan, &format!("issue_id = '{issue}'"));
            world.run(&format!("update wakes set issue_id = '{issue}' where plan_step_id = '{step}'"));
            world.end_continuations("failed");
            world.pass(10);

            let swept = world.sweep();

            assert_eq!((swept.outcome(&issue), swept.outcome(&step)), ("escalated", "escalated"));
        }

        fn an_issue_whose_plan_is_at_work_is_no_orphan(world) {
            let agent = world.agent("running");
            let issue = world.orphan(&agent);
            let (plan, step) = world.stalled_step(Some(&agent));
            world.set("plans", &plan, &format!("issue_id = '{issue}'"));
            step_run(world, &agent, &step, 50);

            assert_eq!(world.sweep().outcome(&issue), "healthy");
            assert_eq!(world.wakes_for(&issue), 0);
        }

        fn an_issue_whose_plan_was_at_work_a_moment_ago_or_is_woken_is_no_orphan(world) {
            let agent = world.agent("idle");
            let (just_ended, woken) = (world.orphan(&agent), world.orphan(&agent));
            let (now, wake) = (world.ago(0), Id::generate());
            for issue in [&just_ended, &woken] {
                let (plan, step) = world.stalled_step(Some(&agent));
                world.set("plans", &plan, &format!("issue_id = '{issue}'"));
                world.set("plan_steps", &step, "status = 'completed'");
                if issue == &just_ended {
                    let run = step_run(world, &agent, &step, 30);
                    world.set("runs", &run, &format!("status = 'succeeded', finished_at = {now}"));
                } else {
                    world.run(&format!(
                        "insert into wakes (id, agent_id, plan_step_id, reason, requested_by)
                         values ('{wake}', '{agent}', '{step}', 'next', 'host')"
                    ));
                }
            }

            let swept = world.sweep();

            assert_eq!((swept.outcome(&just_ended), swept.outcome(&woken)), ("healthy", "healthy"));
        }

        /// Both steps were restarted by themselves, have been in progress for longer than the threshold, and are at
        /// work.
        fn two_steps_that_healed_do_not_hold_each_others_plan(world) {
            let agent = world.agent("idle");
            let (plan, first) = world.stalled_step(Some(&agent));
            let second = another_step(world, &plan, 300);
            assert_eq!(world.sweep().count("steps", "continued"), 2);
            world.end_continuations("succeeded");
            world.pass(180);
            let restarted = world.ago(120);
            for step in [&first, &second] {
                world.set("plan_steps", step, &format!("started_at = {restarted}"));
                step_run(world, &agent, step, 0);
            }

            assert_eq!(world.sweep().count("steps", "recovered"), 2);
            assert_eq!(world.status("plans", &plan), "executing");
        }

        fn the_host_may_prune_its_runs_without_confusing_the_ledger(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let mut settings = world.options();
            settings.policy.attempts_max = 3;
            let run = world.issue_run(&issue, &agent, "failed", 30);
            world.set("runs", &run, "retry_reason = 'issue_continuation_needed'");
            let mut outcomes = vec![world.sweep_as(&settings).outcome(&issue).to_owned()];
            world.run(&format!("delete from runs where id = '{run}'"));
            for _ in 0..3 {
                world.end_continuations("failed");
                world.pass(10);
                outcomes.push(world.sweep_as(&settings).outcome(&issue).to_owned());
            }

            assert_eq!(outcomes, ["continued", "continued", "escalated", "not examined"]);
        }
    }
}
