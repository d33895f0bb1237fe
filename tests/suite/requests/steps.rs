//! `sweep step fail` and `sweep step skip`: a person gives up a step, or leaves it out.

use sweep::rules::Id;

use super::{ask, refused};
use crate::support::program::command_at;
use crate::support::world::{World, on_each_database};

fn ledger(world: &mut World, step: &Id) -> Vec<String> {
    let rows = world.texts(
        "action || ': ' || reason || case when settled_at is null then ' (open)' else '' end",
        &format!("recoveries where subject_id = '{step}' order by created_at, id"),
    );
    rows.into_iter().flatten().collect()
}

/// Makes another step of a plan, in this status; it began as long ago as the first.
fn another(world: &mut World, plan: &Id, status: &str) -> Id {
    let (id, began) = (Id::generate(), world.ago(120));
    world.run(&format!(
        "insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
         values ('{id}', '{plan}', 2, 'Ship', '{status}', {began}, {began})"
    ));
    id
}

on_each_database! {
    fn a_step_that_is_skipped_has_recovered_and_its_plan_goes_on(world) {
        let (plan, step) = world.stalled_step(None);
        world.sweep();
        assert_eq!(world.status("plans", &plan), "stalled");

        let skipped = ask(world, "skip-step", "Launch #1", &[]).done();

        assert_eq!(skipped.out, "Skipped: step Launch #1, asked for by ada\n");
        let statuses = [world.status("plan_steps", &step), world.status("plans", &plan)];
        assert_eq!(statuses, ["skipped", "executing"]);
        let expected = ["escalate: the plan has no agent to wake", "recover: skipped, asked for by ada"];
        assert_eq!(ledger(world, &step), expected);
        refused(world, "skip-step", &step.0, &["it is skipped", "it is pending or in progress"]);
        assert_eq!(world.sweep().outcome(&step), "not examined");
    }

    fn that_a_step_has_recovered_because_a_person_skipped_it_is_reported_where_a_sweep_would_report_it(world) {
        let (_, step) = world.stalled_step(None);
        world.sweep();
        let skip = command_at(&world.url, ["step", "skip", &step.0]).env("SWEEP_SLACK_URL", "http://127.0.0.1:9/");

        skip.env("SWEEP_NOTIFY_ON", "escalated, recovered").run().done();

        assert_eq!(world.texts("event", "notifications"), [Some("recovered".to_owned())]);
    }

    fn a_step_that_is_given_up_is_the_persons_and_its_plan_goes_on(world) {
        let (plan, step) = world.stalled_step(None);
        world.sweep();

        let failed = ask(world, "fail-step", &step.0, &["--output", "json"]).done().json();

        assert_eq!(failed["subject"]["outcome"], "handed_over");
        let statuses = [world.status("plan_steps", &step), world.status("plans", &plan)];
        assert_eq!(statuses, ["failed", "executing"]);
        assert_eq!(ledger(world, &step).last().expect("a row"), "hand_over: set failed, asked for by ada");
    }

    fn a_step_that_never_began_can_be_skipped_and_not_failed(world) {
        let (plan, _) = world.stalled_step(None);
        let pending = another(world, &plan, "pending");
        refused(world, "fail-step", &pending.0, &["it is pending", "it is in progress"]);

        ask(world, "skip-step", &pending.0, &[]).done();

        assert_eq!(ledger(world, &pending), ["recover: skipped, asked for by ada"]);
        assert_eq!(world.status("plans", &plan), "executing");
    }

    fn a_plan_with_a_stalled_step_stays_stalled_when_one_that_never_began_is_skipped(world) {
        let (plan, _) = world.stalled_step(None);
        let pending = another(world, &plan, "pending");
        world.sweep();

        ask(world, "skip-step", &pending.0, &[]).done();

        assert_eq!(world.status("plans", &plan), "stalled");
    }

    fn a_plan_with_another_stalled_step_stays_stalled_until_that_one_heals(world) {
        let (plan, first) = world.stalled_step(None);
        let second = another(world, &plan, "in_progress");
        world.sweep();

        ask(world, "skip-step", &first.0, &[]).done();
        assert_eq!(world.status("plans", &plan), "stalled");
        assert_eq!(world.count("recoveries where settled_at is null"), 2, "what is open keeps the plan in sight");

        ask(world, "skip-step", &second.0, &[]).done();
        assert_eq!(world.status("plans", &plan), "executing");
        world.sweep();
        assert_eq!(world.count("recoveries where settled_at is null"), 0);
        assert_eq!(world.status("plans", &plan), "executing");
    }

    fn what_somebody_works_on_is_neither_skipped_nor_failed(world) {
        let agent = world.agent("idle");
        let (plan, step) = world.stalled_step(Some(&agent));
        ask(world, "wake", &step.0, &[]).done();
        for request in ["skip-step", "fail-step"] {
            refused(world, request, &step.0, &["a wake is queued", "its wake is taken up, or cancelled"]);
        }
        // Nobody takes the wake up any more.
        world.pass(120);
        let at = world.ago(0);
        let run = Id::generate();
        world.run(&format!(
            "insert into runs (id, agent_id, plan_step_id, status, created_at)
             values ('{run}', '{agent}', '{step}', 'running', {at})"
        ));
        refused(world, "skip-step", &step.0, &["a run is live"]);
        world.set("runs", &run, "status = 'failed'");
        world.set("plans", &plan, "status = 'cancelled'");
        refused(world, "skip-step", &step.0, &["its plan is cancelled"]);
        world.set("plans", &plan, "status = 'stalled'");
        ask(world, "skip-step", &step.0, &[]).done();
        assert_eq!(world.status("plans", &plan), "executing");
    }
}
