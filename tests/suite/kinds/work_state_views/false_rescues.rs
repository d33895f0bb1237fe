//! A continuation was not needed if a run that had begun before its wake reported afterwards.

use sweep::rules::Id;

use crate::support::world::{On, World, on_each_database, on_each_host};

fn set_run(world: &mut World, id: &Id, assignment: &str) {
    let runs = if world.on == On::Paperclip { "heartbeat_runs" } else { "runs" };
    world.set(runs, id, assignment);
}

/// Makes an orphan with a run that was taken for dead, continued ten minutes ago: `(issue, run)`.
fn rescued(world: &mut World) -> (Id, Id) {
    let agent = world.agent("idle");
    let issue = world.orphan(&agent);
    let run = world.issue_run(&issue, &agent, "failed", 50);
    assert_eq!(world.sweep().outcome(&issue), "continued");
    world.pass(10);
    (issue, run)
}

on_each_host! {
    fn a_run_that_succeeds_after_our_wake_was_alive_all_along(world) {
        let (issue, run) = rescued(world);
        assert_eq!(world.count("false_rescues"), 0);

        let at = world.ago(3);
        set_run(world, &run, &format!("status = 'succeeded', finished_at = {at}"));

        assert_eq!(world.count(&format!("false_rescues where subject_id = '{issue}' and kind = 'issue' and \
            continued_at < reported_at")), 1);
        assert_eq!(
            world.count("false_rescues f join recoveries r on r.id = f.recovery_id and r.action = 'continue'"),
            1
        );
    }

    fn a_run_that_others_end_after_our_wake_proves_nothing(world) {
        let (_, run) = rescued(world);
        for status in ["failed", "timed_out", "cancelled", "interrupted"] {
            let at = world.ago(3);
            set_run(world, &run, &format!("status = '{status}', finished_at = {at}"));
            assert_eq!(world.count("false_rescues"), 0, "{status}");
        }
    }

    fn the_run_that_our_wake_started_and_one_that_had_ended_before_are_no_false_rescue(world) {
        let (_, run) = rescued(world);
        let before = world.ago(20);
        set_run(world, &run, &format!("status = 'succeeded', finished_at = {before}"));
        world.end_continuations("succeeded");
        assert_eq!(world.count("false_rescues"), 0);
    }

    fn a_run_that_began_after_our_wake_is_no_false_rescue(world) {
        let (issue, _) = rescued(world);
        let agent = world.agent("idle");
        let later = world.issue_run(&issue, &agent, "succeeded", 5);
        let at = world.ago(3);
        set_run(world, &later, &format!("finished_at = {at}"));
        assert_eq!(world.count("false_rescues"), 0);
    }
}

#[test]
fn output_after_our_wake_is_a_report_whatever_became_of_the_run() {
    let mut world = World::new(On::Paperclip);
    let (_, run) = rescued(&mut world);
    let (before, after) = (world.ago(20), world.ago(3));
    set_run(&mut world, &run, &format!("last_output_at = {before}"));
    assert_eq!(world.count("false_rescues"), 0);
    set_run(&mut world, &run, &format!("last_output_at = {after}"));
    assert_eq!(world.count("false_rescues"), 1);
}

mod steps {
    use super::*;

    on_each_database! {
        fn a_run_that_names_the_step_or_was_woken_for_it_reports(world) {
            for by_wake in [false, true] {
                let agent = world.agent("idle");
                let (_, step) = world.stalled_step(Some(&agent));
                let (run, wake, began) = (Id::generate(), Id::generate(), world.ago(50));
                if by_wake {
                    world.run(&format!(
                        "insert into wakes (id, agent_id, plan_step_id, reason, requested_by, status, created_at)
                         values ('{wake}', '{agent}', '{step}', 'x', 'host', 'completed', {began})"
                    ));
                }
                let link = if by_wake { format!("wake_id) values ('{run}', '{agent}', 'failed', {began}, '{wake}')") }
                           else { format!("plan_step_id) values ('{run}', '{agent}', 'failed', {began}, '{step}')") };
                world.run(&format!("insert into runs (id, agent_id, status, created_at, {link}"));
                assert_eq!(world.sweep().outcome(&step), "continued");
                world.pass(10);
                let row = format!("false_rescues where subject_id = '{step}' and kind = 'step'");
                assert_eq!(world.count(&row), 0);
                let at = world.ago(3);
                set_run(world, &run, &format!("status = 'succeeded', finished_at = {at}"));
                assert_eq!(world.count(&row), 1, "by wake: {by_wake}");
            }
        }
    }
}
