//! What a sweep promises about a plan step.

use sweep::rules::step::{Holders, StepFacts};

use crate::support::views_and_rules::facts_of;
use crate::support::world::{World, on_each_database};

on_each_database! {
    fn a_stalled_step_gets_one_wake_and_its_plan_is_marked(world) {
        let agent = world.agent("idle");
        let (plan, step) = world.stalled_step(Some(&agent));

        let swept = world.sweep();
        let again = world.sweep();

        assert_eq!(swept.outcome(&step), "continued");
        assert_eq!(again.count("steps", "continued") + again.count("steps", "escalated"), 0);
        assert_eq!(world.wakes_for(&step), 1);
        assert_eq!(world.status("plans", &plan), "stalled");
        assert_eq!(world.status("plan_steps", &step), "in_progress");
    }

    fn a_step_whose_continuation_did_not_help_is_escalated_once_on_the_linked_issue(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        world.set("issues", &issue, "status = 'todo'");
        let (plan, step) = world.stalled_step(Some(&agent));
        world.set("plans", &plan, &format!("issue_id = '{issue}'"));
        world.sweep();
        let mut outcomes = Vec::new();
        for _ in 0..3 {
            world.end_continuations("failed");
            world.pass(10);
            outcomes.push(world.sweep().outcome(&step).to_owned());
        }

        assert_eq!(outcomes, ["escalated", "waiting", "waiting"]);
        assert_eq!(world.wakes_for(&step), 1);
        assert_eq!(world.comments_on(&issue), 1);
        assert_eq!(world.status("issues", &issue), "todo", "the linked issue is reported, not blocked");
        assert_eq!(world.status("plans", &plan), "stalled");
        assert_eq!(world.status("plan_steps", &step), "in_progress");
    }

    fn a_plan_that_nobody_can_be_woken_for_is_escalated_at_once(world) {
        let (plan, step) = world.stalled_step(None);

        let swept = world.sweep();

        assert_eq!(swept.outcome(&step), "escalated");
        assert_eq!(world.wakes_for(&step), 0);
        assert_eq!(world.status("plans", &plan), "stalled");
    }

    fn a_plan_whose_steps_have_healed_goes_on_executing(world) {
        for (escalate, agent) in [(false, Some(world.agent("idle"))), (true, None)] {
            let (plan, step) = world.stalled_step(agent.as_ref());
            world.sweep();
            assert_eq!(world.status("plans", &plan), "stalled");
            world.end_continuations("succeeded");
            world.set("plan_steps", &step, "status = 'completed'");

            let swept = world.sweep();

            assert_eq!(swept.outcome(&step), "recovered", "escalated: {escalate}");
            assert_eq!(world.status("plans", &plan), "executing");
            assert_eq!(world.sweep().outcome(&step), "not examined");
        }
    }

    fn a_plan_with_another_stalled_step_stays_stalled(world) {
        let agent = world.agent("idle");
        let (plan, healed) = world.stalled_step(Some(&agent));
        let other = sweep::rules::Id::generate();
        let long_ago = world.ago(300);
        world.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status, started_at)
             values ('{other}', '{plan}', 2, 'Ship', 'in_progress', {long_ago})"
        ));
        assert_eq!(world.sweep().count("steps", "continued"), 2, "two steps of one plan do not find one another busy");
        world.set("plan_steps", &healed, "status = 'completed'");

        let swept = world.sweep();

        assert_eq!(swept.outcome(&healed), "healthy");
        assert_eq!(swept.subject(&healed)["reason"], "it healed, another step of its plan has not");
        assert_eq!(world.status("plans", &plan), "stalled");
    }

    /// A sweep does not read the hundred steps of a plan once for each of them.
    fn a_plans_other_steps_are_read_for_one_that_healed_alone(world) {
        let (plan, healed) = world.stalled_step(None);
        let (_, stalled) = world.stalled_step(None);
        world.run(&format!("update plan_steps set plan_id = '{plan}', position = 2 where id = '{stalled}'"));
        world.sweep();
        let both = [healed.clone(), stalled];
        let holders = |world: &World| -> Vec<Option<Holders>> {
            facts_of::<StepFacts>(world, &both).into_iter().map(|(_, facts)| facts.holders).collect()
        };
        assert_eq!(holders(world), [None, None]);

        world.set("plan_steps", &healed, "status = 'completed'");

        assert_eq!(holders(world), [Some([Some(both[1].clone())].into()), None]);
    }

    fn a_plan_stays_stalled_while_too_many_of_its_steps_are_in_progress_to_look_at(world) {
        let agent = world.agent("idle");
        let (plan, healed) = world.stalled_step(Some(&agent));
        assert_eq!(world.sweep().outcome(&healed), "continued");
        world.set("plan_steps", &healed, "status = 'completed'");
        for n in 0..101 {
            let (id, now) = (sweep::rules::Id::generate(), world.ago(0));
            world.run(&format!(
                "insert into plan_steps (id, plan_id, position, title, status, started_at)
                 values ('{id}', '{plan}', {n} + 2, 'Ship', 'in_progress', {now})"
            ));
        }
        let swept = world.sweep();
        assert_eq!(swept.subject(&healed)["reason"], "it healed, another step of its plan has not");
        world.run(&format!("update plan_steps set status = 'completed' where plan_id = '{plan}' and position = 2"));
        assert_eq!(world.sweep().outcome(&healed), "recovered", "a hundred are looked at");
    }

    fn thresholds_are_the_steps_own_then_the_plans_then_the_policys(world) {
        let agent = world.agent("idle");
        for (own, plans, continued) in
            [("null", "null", true), ("null", "86400", false), ("60", "86400", true), ("86400", "60", false)]
        {
            let (plan, step) = world.stalled_step(Some(&agent));
            world.set("plans", &plan, &format!("stalled_after_seconds = {plans}"));
            world.set("plan_steps", &step, &format!("stalled_after_seconds = {own}"));
            assert_eq!(world.sweep().outcome(&step) == "continued", continued, "step {own}, plan {plans}");
        }
    }

    fn a_step_of_a_plan_that_is_not_open_or_of_a_paused_agent_is_never_woken(world) {
        let (idle, paused) = (world.agent("idle"), world.agent("paused"));
        for status in ["draft", "completed", "failed", "cancelled"] {
            let (plan, step) = world.stalled_step(Some(&idle));
            world.set("plans", &plan, &format!("status = '{status}'"));
            world.sweep();
            assert_eq!(world.wakes_for(&step), 0, "{status}");
            assert_eq!(world.status("plans", &plan), status);
        }
        let (plan, step) = world.stalled_step(Some(&paused));
        assert_eq!(world.sweep().outcome(&step), "skipped");
        assert_eq!((world.wakes_for(&step), world.status("plans", &plan).as_str()), (0, "executing"));
    }

    fn a_step_on_which_a_run_works_is_left_alone(world) {
        let agent = world.agent("running");
        let (_, step) = world.stalled_step(Some(&agent));
        let (id, now) = (sweep::rules::Id::generate(), world.ago(0));
        world.run(&format!(
            "insert into runs (id, agent_id, plan_step_id, status, created_at) values ('{id}', '{agent}', '{step}', \
                'running', {now})"
        ));
        assert_eq!(world.sweep().outcome(&step), "not examined");
        let (_, woken) = world.stalled_step(Some(&agent));
        world.sweep();
        world.end_continuations("running");
        assert_eq!(world.sweep().count("steps", "escalated"), 0, "the run that our wake started works on {woken}");
    }
}
