//! P1, P16: applications and sweeps at once.

use std::thread;

use sweep::rules::Id;
use sweep::sweep::Options;

use crate::support::in_process::{Swept, sweep_once};
use crate::support::world::{World, on_each_host};

const ORPHANS: usize = 60;

fn orphans(world: &mut World) -> Vec<Id> {
    let agents: Vec<Id> = (0..5).map(|_| world.agent("idle")).collect();
    (0..ORPHANS).map(|n| world.orphan(&agents[n % agents.len()])).collect()
}

fn together(all: &[Options]) -> Vec<Swept> {
    thread::scope(|scope| {
        let sweeps: Vec<_> = all.iter().map(|settings| scope.spawn(|| sweep_once(settings))).collect();
        sweeps.into_iter().map(|sweep| sweep.join().expect("a sweep")).collect()
    })
}

on_each_host! {
    fn an_application_by_eight_connections_does_each_subject_once(world) {
        let issues = orphans(world);
        let plan = world.dry_run();
        let applied = world.sweep_as(&Options { connections: 8, ..world.settings_to_apply(&plan.json) });
        assert_eq!(applied.count("issues", "continued"), ORPHANS as i64, "{}", applied.json);
        for issue in &issues {
            assert_eq!(world.wakes_for(issue), 1);
        }
    }

    fn applications_and_sweeps_at_once_wake_each_subject_once(world) {
        let issues = orphans(world);
        let plan = world.dry_run();
        let (apply, sweep) = (world.settings_to_apply(&plan.json), world.options());

        let swept = together(&[apply.clone(), sweep.clone(), apply, sweep]);

        let sum = |outcome| swept.iter().map(|swept| swept.count("issues", outcome)).sum::<i64>();
        assert_eq!((sum("continued"), sum("failed"), sum("unknown")), (ORPHANS as i64, 0, 0));
        for issue in &issues {
            assert_eq!(world.wakes_for(issue), 1);
        }
        assert_eq!(world.count("failures"), 0);
    }
}
