//! What fails in sweep after sweep is counted, and after the third costs nothing any more, until a person releases it.

mod ways_to_fail;
mod which_sweeps_count;

use sweep::conclusion::Conclusion;
use sweep::rules::Id;
use sweep::sweep::{Options, Selection};

use crate::support::in_process::Swept;
use crate::support::program::{command_at, sweep_at};
use crate::support::world::{World, on_each_host};

const SOME_FAILED: i32 = 1;

fn release(world: &World, issue: &Id) {
    command_at(&world.url, ["quarantine", "release", "issue", &issue.0]).run().done();
}

fn assert_not_examined(swept: &Swept, issue: &Id, exit: Conclusion) {
    let found = (swept.outcome(issue), swept.count("issues", "in_quarantine"), swept.exit);
    assert_eq!(found, ("not examined", 1, exit), "{}", swept.json);
}

on_each_host! {
    fn what_failed_in_three_sweeps_running_is_reported_and_not_examined_until_it_is_released(world) {
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        let name = world.text("identifier", &format!("issues where id = '{bad}'")).expect("a name");
        world.poison(&bad);
        for sweeps in [1, 2] {
            let good = world.orphan(&agent);
            let swept = world.sweep();
            assert_eq!(
                (swept.outcome(&bad), swept.outcome(&good), swept.exit),
                ("failed", "continued", Conclusion::SomeFailed)
            );
            assert_eq!((world.failed_sweeps(&bad), swept.count("issues", "in_quarantine")), ((sweeps, false), 0));
        }

        let third = sweep_at(&world.url, []).run();

        assert_eq!(third.code, SOME_FAILED, "{third}");
        let says = format!("issue {name} is in quarantine from now on, since it failed in too many sweeps running: ");
        assert!(
            third.err.lines().any(|line| line.contains(&says) && line.contains("no wakes for this one")),
            "{third}"
        );
        assert_eq!(world.failed_sweeps(&bad), (3, true));
        let fourth = sweep_at(&world.url, []).run().done();
        assert!(fourth.out.contains("In quarantine: 1 issue: see sweep quarantine list"), "{fourth}");
        assert_not_examined(&world.sweep(), &bad, Conclusion::Done);
        assert_not_examined(&world.dry_run(), &bad, Conclusion::Done);
        let json = |arguments: &[&str]| command_at(&world.url, arguments.iter().copied()).run().done().json();
        let listed = &json(&["quarantine", "list", "--output", "json"])["quarantine"][0];
        assert_eq!((&listed["id"], &listed["failed_sweeps"]), (&bad.0.as_str().into(), &3.into()));
        assert_eq!(json(&["status", "--output", "json"])["quarantined"][0]["id"], bad.0);
        assert_eq!(json(&["explain", "issue", &name, "--output", "json"])["quarantined"], true);

        release(world, &bad);
        for sweeps in [1, 2, 3] {
            assert_eq!(world.sweep().outcome(&bad), "failed");
            assert_eq!(world.failed_sweeps(&bad), (sweeps, sweeps == 3));
        }
        assert_not_examined(&world.sweep(), &bad, Conclusion::Done);
        world.heal(&bad);
        release(world, &bad);
        let healed = world.sweep();
        assert_eq!((healed.outcome(&bad), healed.count("issues", "in_quarantine")), ("continued", 0));
        assert_eq!(world.failed_sweeps(&bad), (0, false));
    }

    fn a_subject_in_quarantine_is_examined_if_it_is_named(world) {
        let agent = world.agent("idle");
        let bad = world.orphan(&agent);
        let plan = world.dry_run();
        world.poison(&bad);
        (0..3).for_each(|_| drop(world.sweep()));
        assert_not_examined(&world.sweep(), &bad, Conclusion::Done);

        assert_eq!(world.sweep_as(&world.settings_for(&bad)).outcome(&bad), "failed");
        world.heal(&bad);
        let plan = sweep::sweep::plan::Plan::read(plan.json.to_string().as_bytes()).expect("a plan");
        let apply = Options { selection: Selection::Plan(Box::new(plan)), ..world.options() };
        assert_eq!(world.sweep_as(&apply).outcome(&bad), "continued");
        assert_not_examined(&world.sweep(), &bad, Conclusion::Done);
        assert_eq!(world.failed_sweeps(&bad), (3, true), "a person releases it, nobody else");
    }

    fn rows_that_the_host_deleted_are_in_nobodys_way(world) {
        let agent = world.agent("idle");
        let held = world.orphan(&agent);
        world.poison(&held);
        world.sweep();
        let failing = world.orphan(&agent);
        world.poison(&failing);
        (0..2).for_each(|_| drop(world.sweep()));
        assert_eq!(world.sweep_as(&world.settings_for(&failing)).outcome(&failing), "failed");
        assert_eq!((world.failed_sweeps(&held), world.failed_sweeps(&failing)), ((3, true), (2, false)));
        world.run(&format!("delete from issues where id in ('{held}', '{failing}')"));

        let swept = world.sweep();
        assert_eq!((swept.outcome(&held), swept.exit), ("not examined", Conclusion::Done));
        assert_eq!(swept.count("issues", "in_quarantine"), 0);

        command_at(&world.url, ["status"]).run().done();
        release(world, &held);
        assert_eq!((world.sweep().exit, world.failed_sweeps(&held)), (Conclusion::Done, (0, false)));
    }
}
