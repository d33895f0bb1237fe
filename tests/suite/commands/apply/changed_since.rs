//! What may happen to a subject between its plan and the application: it is changed then, and nothing is written.

use sweep::conclusion::Conclusion;
use sweep::rules::Id;

use crate::support::program::command_at;
use crate::support::world::{On, World, on_each_host};

type Happening = fn(&mut World, &Id, &Id);

/// Each with what the report says of it.
const HAPPENINGS: [(&str, Happening); 9] = [
    ("planned: continue (nobody is working on it); now: leave (it is done)", |world, issue, _| {
        world.set("issues", issue, "status = 'done'");
    }),
    ("it has another agent now", |world, issue, _| {
        let other = world.agent("idle");
        world.set("issues", issue, &format!("assignee_agent_id = '{other}'"));
    }),
    ("now: leave (a person has it)", |world, issue, _| world.set("issues", issue, "assignee_user_id = 'grace'")),
    ("now: leave (a run is live)", |world, issue, agent| drop(world.issue_run(issue, agent, "running", 0))),
    ("planned: continue (nobody is working on it); now: leave (a ", |world, _, _| drop(world.sweep())),
    ("now: escalate (no attempt is left)", |world, _, _| {
        world.sweep();
        world.end_continuations("failed");
        world.pass(10);
    }),
    ("now: skip (Ada is paused)", |world, _, agent| world.set("agents", agent, "status = 'paused'")),
    ("it no longer exists", |world, issue, _| world.run(&format!("delete from issues where id = '{issue}'"))),
    ("now: leave (exempt: a customer's call)", |world, issue, _| {
        let words = ["exempt", "add", "issue", &issue.0, "--reason", "a customer's call"];
        command_at(&world.url, words).run().done();
    }),
];

on_each_host! {
    fn a_subject_that_is_no_longer_decided_so_is_changed_and_nothing_is_written(world) {
        for (reason, happening) in HAPPENINGS {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let plan = world.dry_run();
            assert_eq!(plan.outcome(&issue), "continued");
            happening(world, &issue, &agent);
            let written = world.rows_written();

            let applied = world.apply(&plan.json);

            assert_eq!(applied.outcome(&issue), "changed", "{reason}: {}", applied.json);
            let reported = applied.subject(&issue)["reason"].as_str().unwrap_or_default();
            assert!(reported.contains(reason), "“{reason}” is not in “{reported}”");
            assert_eq!((world.rows_written(), applied.exit), (written, Conclusion::Done), "{reason}");
            assert_eq!(applied.count("issues", "changed"), applied.count("issues", "scanned"), "{reason}");
            world.run("delete from exemptions");
            world.set("issues", &issue, "status = 'cancelled'");
            world.sweep();
        }
    }

    fn an_escalation_for_another_cause_is_another_decision(world) {
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let mut once_a_day = world.options();
        once_a_day.policy.attempts_per_day_max = 1;
        world.sweep_as(&once_a_day);
        world.end_continuations("failed");
        world.pass(10);
        let plan = world.sweep_as(&sweep::sweep::Options { dry_run: true, ..once_a_day.clone() });
        assert_eq!(plan.subject(&issue)["reason"], "no attempt is left");
        world.issue_run(&issue, &agent, "failed", 5);
        let written = world.rows_written();

        let mut settings = world.settings_to_apply(&plan.json);
        settings.policy = once_a_day.policy;
        let applied = world.sweep_as(&settings);

        let reported = applied.subject(&issue)["reason"].as_str().unwrap_or_default();
        assert!(reported.ends_with("now: escalate (too many continuations in 24 hours)"), "{reported}");
        assert_eq!((applied.outcome(&issue), world.rows_written()), ("changed", written));
    }

    fn a_subject_that_somebody_else_holds_is_busy_and_can_be_applied_later(world) {
        if world.on == On::Sqlite {
            return;
        }
        let agent = world.agent("idle");
        let issue = world.orphan(&agent);
        let plan = world.dry_run();
        world.run(&format!("begin; select from issues where id = '{issue}' for update"));
        let busy = world.apply(&plan.json);
        world.run("commit");
        assert_eq!((busy.outcome(&issue), busy.exit), ("busy", Conclusion::Busy));
        assert_eq!(world.apply(&plan.json).outcome(&issue), "continued");
    }
}
