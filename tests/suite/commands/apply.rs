//! `sweep --apply`: what a dry run showed is done, and nothing else; each subject only if it is still decided so.

mod changed_since;
mod concurrent_applications;
mod foreign_plans;
mod malformed_plans;

use sweep::conclusion::Conclusion;
use sweep::rules::Id;
use sweep::sweep::{Options, Selection};

use crate::support::world::{World, on_each_database, on_each_host};

/// One issue to continue, one to escalate and one to recover.
fn one_of_each(world: &mut World, agent: &Id) -> [Id; 3] {
    let (escalated, recovered) = (world.orphan(agent), world.orphan(agent));
    world.sweep();
    world.end_continuations("failed");
    world.pass(10);
    world.set("issues", &recovered, "status = 'done'");
    [world.orphan(agent), escalated, recovered]
}

on_each_host! {
    fn exactly_what_was_planned_is_done_although_there_is_more_to_do_by_now(world) {
        let agent = world.agent("idle");
        let [continued, escalated, recovered] = one_of_each(world, &agent);
        let plan = world.dry_run();
        let new = world.orphan(&agent);

        let applied = world.apply(&plan.json);

        for (id, outcome) in [(&continued, "continued"), (&escalated, "escalated"), (&recovered, "recovered")] {
            assert_eq!((plan.outcome(id), applied.outcome(id)), (outcome, outcome), "{}", applied.json);
        }
        assert_eq!((applied.outcome(&new), world.wakes_for(&new)), ("not examined", 0));
        assert_eq!((world.wakes_for(&continued), world.comments_on(&escalated)), (1, 1));
        assert_eq!((applied.json["mode"].as_str(), applied.exit), (Some("apply"), Conclusion::Done));
        assert_eq!(world.count("sweeps where partial and ended = 'completed'"), 1);
    }

    fn a_plan_that_was_applied_is_changed_and_nothing_is_done_twice(world) {
        let agent = world.agent("idle");
        one_of_each(world, &agent);
        let plan = world.dry_run();
        world.apply(&plan.json);
        let written = world.rows_written();

        let again = world.apply(&plan.json);

        assert_eq!((again.count("issues", "changed"), again.count("issues", "scanned")), (3, 3), "{}", again.json);
        assert_eq!((world.rows_written(), again.exit), (written, Conclusion::Done));
    }

    fn a_dry_run_of_a_plan_shows_what_it_would_do_and_is_a_plan_itself(world) {
        let agent = world.agent("idle");
        let [continued, escalated, _] = one_of_each(world, &agent);
        let plan = world.dry_run();
        world.set("issues", &escalated, "status = 'done'");
        let written = world.rows_written();

        let shown = world.sweep_as(&Options { dry_run: true, ..world.settings_to_apply(&plan.json) });

        assert_eq!((shown.outcome(&continued), shown.outcome(&escalated)), ("continued", "changed"), "{}", shown.json);
        assert_eq!((world.rows_written(), &shown.json["mode"]), (written, &"dry_run".into()));
        let applied = world.apply(&shown.json);
        assert_eq!(
            (applied.count("issues", "scanned"), applied.count("issues", "changed")),
            (2, 0),
            "{}",
            applied.json
        );
    }

    /// Its subjects were named, and a person has looked at them.
    fn a_plan_is_not_guarded(world) {
        let agent = world.agent("idle");
        (0..25).for_each(|_| drop(world.orphan(&agent)));
        let plan = world.dry_run();
        let guarded = Options { guard: Some(sweep::rules::Guard::default()), ..world.options() };
        assert_eq!(world.sweep_as(&guarded).exit, Conclusion::Guarded);

        let applied = world.sweep_as(&Options { guard: guarded.guard, ..world.settings_to_apply(&plan.json) });

        assert_eq!((applied.count("issues", "continued"), applied.exit), (25, Conclusion::Done));
    }

    fn a_plan_of_a_dry_run_with_limits_holds_what_it_would_have_done(world) {
        let agent = world.agent("idle");
        let issues: Vec<Id> = (0..4).map(|_| world.orphan(&agent)).collect();
        let limited = Options { dry_run: true, limit: Some(3), wakes_per_agent_max: 2, ..world.options() };
        let plan = world.sweep_as(&limited);

        let applied = world.apply(&plan.json);

        assert_eq!((applied.count("issues", "continued"), applied.count("issues", "scanned")), (2, 2));
        for issue in &issues {
            assert_eq!(world.wakes_for(issue), i64::from(plan.outcome(issue) == "continued"));
        }
    }

    fn the_limits_bound_an_application_as_well(world) {
        let agent = world.agent("idle");
        (0..3).for_each(|_| drop(world.orphan(&agent)));
        let plan = world.dry_run();

        let limited = world.sweep_as(&Options { limit: Some(1), ..world.settings_to_apply(&plan.json) });
        let rationed = world.sweep_as(&Options { wakes_per_agent_max: 1, ..world.settings_to_apply(&plan.json) });

        assert_eq!(
            (limited.count("issues", "continued"), limited.count("issues", "deferred")),
            (1, 2),
            "{}",
            limited.json
        );
        let counts = ["continued", "changed", "deferred"].map(|outcome| rationed.count("issues", outcome));
        assert_eq!(counts, [1, 1, 1], "{}", rationed.json);
    }

    fn a_plan_of_nothing_does_nothing(world) {
        let plan = world.dry_run();
        let applied = world.apply(&plan.json);
        assert_eq!((applied.exit, applied.json["subjects"].as_array().map(Vec::len)), (Conclusion::Done, Some(0)));
    }
}

mod own_tables {
    use super::*;

    on_each_database! {
        fn steps_are_planned_and_applied(world) {
            let agent = world.agent("idle");
            let ((plan_of_one, one), (_, other)) = (world.stalled_step(Some(&agent)), world.stalled_step(None));
            let plan = world.dry_run();
            let (_, new) = world.stalled_step(Some(&agent));

            let applied = world.apply(&plan.json);

            assert_eq!(
                (applied.outcome(&one), applied.outcome(&other)),
                ("continued", "escalated"),
                "{}",
                applied.json
            );
            assert_eq!((applied.outcome(&new), world.wakes_for(&new), world.wakes_for(&one)), ("not examined", 0, 1));
            assert_eq!(world.status("plans", &plan_of_one), "stalled");
            let again = world.apply(&plan.json);
            assert_eq!(again.count("steps", "changed"), 2, "{}", again.json);
        }

        fn a_plan_of_one_tenant_or_one_kind_touches_nothing_else(world) {
            let agent = world.agent("idle");
            let (ours, theirs) = (world.orphan(&agent), world.orphan(&agent));
            let (_, step) = world.stalled_step(Some(&agent));
            world.set("issues", &ours, "tenant = 'acme'");
            let of_tenant =
                world.sweep_as(&Options { dry_run: true, tenant: Some("acme".to_owned()), ..world.options() });
            let of_kind = Options { selection: Selection::Kinds(vec![sweep::rules::Kind::Step]), ..world.options() };
            let of_kind = world.sweep_as(&Options { dry_run: true, ..of_kind });

            let applied = world.apply(&of_tenant.json);
            assert_eq!((applied.outcome(&ours), applied.count("issues", "scanned")), ("continued", 1));
            world.apply(&of_kind.json);

            assert_eq!((world.wakes_for(&theirs), world.wakes_for(&step)), (0, 1));
        }

        /// A kind in shadow is never written: what it shows is no order.
        fn what_was_shown_of_a_kind_in_shadow_is_not_planned(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let (_, step) = world.stalled_step(Some(&agent));
            let modes = [(sweep::rules::Kind::Step, sweep::sweep::KindMode::Shadow)].into();
            let plan = world.sweep_as(&Options { dry_run: true, modes, ..world.options() });
            assert_eq!(plan.outcome(&step), "continued");

            let applied = world.apply(&plan.json);

            assert_eq!(
                (applied.outcome(&issue), applied.outcome(&step)),
                ("continued", "not examined"),
                "{}",
                applied.json
            );
            assert_eq!(world.wakes_for(&step), 0);
        }

        fn texts_that_are_not_shown_as_they_are_agree_with_their_plan(world) {
            let agent = world.agent("idle");
            for text in [
                "password=hunter2",
                "ghp_hunter2hunter2hunter2",
                "a\u{1b}[2Jb\nc",
                "\u{202e}𝕏 \"\\",
                "it waits: token: x",
            ] {
                let issue = world.orphan(&agent);
                let quoted = text.replace('\'', "''");
                world.set(
                    "issues",
                    &issue,
                    &format!("title = '{quoted}', identifier = '{quoted}', tenant = '{quoted}'"),
                );
                let healed = world.orphan(&agent);
                world.sweep_as(&Options { limit: Some(1), ..world.settings_for(&healed) });
                world.set("issues", &healed, &format!("waiting_for = '{quoted}'"));
                world.end_continuations("failed");
                let plan = world.dry_run();

                let applied = world.apply(&plan.json);

                let outcomes = [applied.outcome(&issue), applied.outcome(&healed)];
                assert_eq!(outcomes, ["continued", "handed_over"], "{text}: {}", applied.json);
            }
        }
    }
}
