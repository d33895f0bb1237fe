//! P1 is about an agent's work and not about a kind: an issue and the steps and sessions linked to it get one
//! continuation at a time. decisions.md#linked-work

use std::thread;

use sweep::conclusion::Conclusion;
use sweep::rules::Id;

use crate::support::in_process::sweep_once;
use crate::support::world::{World, on_each_database};

/// Makes an orphaned issue with two plans of two stalled steps each: `(issue, steps)`.
fn linked(world: &mut World, agent: &Id) -> (Id, Vec<Id>) {
    let issue = world.orphan(agent);
    let mut steps = Vec::new();
    for _ in 0..2 {
        let (plan, first) = world.stalled_step(Some(agent));
        world.set("plans", &plan, &format!("issue_id = '{issue}'"));
        let (second, began) = (Id::generate(), world.ago(90));
        world.run(&format!(
            "insert into plan_steps (id, plan_id, position, title, status, started_at, updated_at)
             values ('{second}', '{plan}', 2, 'Ship', 'in_progress', {began}, {began})"
        ));
        steps.extend([first, second]);
    }
    (issue, steps)
}

fn pending(world: &mut World) -> i64 {
    world.count("wakes where status = 'queued'")
        + world.count("session_commands where status = 'queued' and command = 'relaunch'")
}

on_each_database! {
    fn an_issue_and_the_steps_of_its_plans_get_one_wake_together(world) {
        let agent = world.agent("idle");
        let (issue, steps) = linked(world, &agent);

        let swept = world.sweep();
        let again = world.sweep();

        assert_eq!(pending(world), 1);
        assert_eq!(swept.outcome(&issue), "continued");
        for step in &steps {
            assert_eq!((swept.outcome(step), &swept.subject(step)["reason"]), ("healthy", &"a wake is queued".into()));
        }
        assert_eq!(again.count("issues", "continued") + again.count("steps", "continued"), 0);
    }

    fn of_the_steps_of_one_issue_one_is_continued_after_the_other(world) {
        let agent = world.agent("idle");
        let (issue, steps) = linked(world, &agent);
        world.set("issues", &issue, "status = 'todo'");
        let mut continued = 0;
        for round in 1..=steps.len() as i64 {
            continued += world.sweep().count("steps", "continued");
            assert_eq!((pending(world), continued), (1, round));
            world.run("update wakes set status = 'completed'");
        }
    }

    fn a_step_whose_issues_session_is_relaunched_is_left(world) {
        let agent = world.agent("idle");
        let (issue, steps) = linked(world, &agent);
        let (session, hour) = (Id::generate(), world.ago(60));
        world.run(&format!(
            "insert into sessions (id, title, agent_id, issue_id, status, started_at, last_activity_at, ended_at, \
                exit_code)
             values ('{session}', 'Mend', '{agent}', '{issue}', 'active', {hour}, {hour}, {hour}, 1)"
        ));
        let mut settings = world.options();
        settings.policy.auto_relaunch = true;

        let swept = world.sweep_as(&settings);

        assert_eq!(swept.outcome(&session), "continued");
        assert_eq!((pending(world), swept.outcome(&issue), swept.outcome(&steps[0])), (1, "healthy", "healthy"));
    }

    fn another_tenants_issue_keeps_no_step_waiting(world) {
        let agent = world.agent("idle");
        let (issue, steps) = linked(world, &agent);
        world.set("issues", &issue, "tenant = 'other'");

        let swept = world.sweep();

        assert_eq!(swept.outcome(&issue), "continued");
        assert!(steps.iter().all(|step| swept.outcome(step) == "continued"), "{}", swept.json);
    }

    fn eight_sweeps_at_once_queue_one_wake_for_each_issue_and_all_its_steps(world) {
        let agents: Vec<Id> = (0..4).map(|_| world.agent("idle")).collect();
        world.run("begin");
        let issues: Vec<Id> = (0..40).map(|n| linked(world, &agents[n % 4]).0).collect();
        // Half of the issues have only their steps to continue.
        for issue in issues.iter().step_by(2) {
            world.set("issues", issue, "status = 'todo'");
        }
        world.run("commit");
        let settings = world.options();
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert!(matches!(sweep_once(&settings).exit, Conclusion::Done | Conclusion::Busy)));
            }
        });

        for issue in &issues {
            assert!(world.wakes_for(issue) <= 1, "{issue}");
        }
        // The next sweep takes the subjects that two of these found busy.
        world.sweep();
        for issue in &issues {
            assert_eq!(world.wakes_for(issue), 1, "{issue}");
        }
    }
}

/// The negative control: sweepers that lock the plans and not the issue wake its agent for two steps.
#[test]
fn sweepers_that_do_not_lock_the_issue_wake_its_agent_twice() {
    let mut world = World::new(crate::support::world::On::Postgres);
    let agent = world.agent("idle");
    let (issue, steps) = linked(&mut world, &agent);
    let mut rival = world.connect();
    let wake = |step: &Id| {
        format!(
            "begin; select from plans p join plan_steps s on s.plan_id = p.id where s.id = '{step}' for update skip \
                locked;
             insert into wakes (agent_id, issue_id, plan_step_id, reason, requested_by)
             select '{agent}', '{issue}', subject_id, 'wrong', 'sweep' from step_facts
             where subject_id = '{step}' and pending_wake_since is null"
        )
    };
    world.run(&wake(&steps[0]));
    crate::support::databases::run(&mut rival, &wake(&steps[2]));
    world.run("commit");
    crate::support::databases::run(&mut rival, "commit");

    assert_eq!(pending(&mut world), 2);
}
