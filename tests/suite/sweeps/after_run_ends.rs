//! Sweeps of the candidates among some issues, as a daemon makes them when it hears that runs have ended.

use chrono::TimeDelta;
use sweep::conclusion::Conclusion;
use sweep::rules::{Id, Kind};
use sweep::sweep::Cancel;
use sweep::sweep::run as sweep;
use sweep::sweep::{Options, Selection};

use crate::support::world::{On, World, on_each_database, on_each_host};

fn settings_for_only(world: &World, issues: &[&Id]) -> Options {
    let ids = issues.iter().map(|id| (*id).clone()).collect();
    Options { selection: Selection::Candidates(vec![Kind::Issue], ids), ..world.options() }
}

on_each_host! {
    fn only_the_named_issues_are_touched_and_no_other_kind_is_looked_at(world) {
        let agent = world.agent("idle");
        let (one, other) = (world.orphan(&agent), world.orphan(&agent));
        let swept = world.sweep_as(&settings_for_only(world, &[&one]));
        assert_eq!((swept.outcome(&one), swept.outcome(&other)), ("continued", "not examined"));
        assert_eq!((world.wakes_for(&one), world.wakes_for(&other)), (1, 0));
        assert!(swept.json["kinds"]["steps"].is_null() && swept.json["kinds"]["sessions"].is_null(), "{}", swept.json);
    }

    fn it_is_recorded_as_a_sweep_of_a_part_and_not_at_all_when_none_is_a_candidate(world) {
        let agent = world.agent("idle");
        let (done, gone, orphan) = (world.orphan(&agent), Id::generate(), world.orphan(&agent));
        world.set("issues", &done, "status = 'done'");
        let sweeps = if world.on == On::Sqlite { "sweeps" } else { "sweep.sweeps" };

        let swept = sweep(&settings_for_only(world, &[&done, &gone]), &Cancel::default(), &mut ()).expect("a sweep");
        assert_eq!((swept.conclusion, swept.total().scanned, world.count(sweeps)), (Conclusion::Done, 0, 0));

        let swept = sweep(&settings_for_only(world, &[&done, &orphan]), &Cancel::default(), &mut ()).expect("a sweep");
        assert_eq!((swept.conclusion, swept.total().scanned), (Conclusion::Done, 1));
        assert_eq!(world.count(&format!("{sweeps} where is_restricted and partial")), 1);
    }
}

mod on_our_tables {
    use super::*;

    on_each_database! {
        fn of_another_tenant_they_are_left(world) {
            let agent = world.agent("idle");
            let (ours, theirs) = (world.orphan(&agent), world.orphan(&agent));
            world.set("issues", &ours, "tenant = 'ours'");
            let settings = Options { tenant: Some("ours".to_owned()), ..settings_for_only(world, &[&ours, &theirs]) };
            let swept = world.sweep_as(&settings);
            assert_eq!((swept.outcome(&ours), swept.outcome(&theirs)), ("continued", "not examined"));
        }

        fn what_is_in_quarantine_stays_there(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let now = world.ago(0);
            world.run(&format!(
                "insert into failures (kind, subject_id, reason, quarantined_at) values ('issue', '{issue}', 'poison', \
                    {now})"
            ));
            let swept = sweep(&settings_for_only(world, &[&issue]), &Cancel::default(), &mut ()).expect("a sweep");
            assert_eq!(swept.total().scanned, 0);
        }

        fn its_own_grace_holds(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let mut settings = settings_for_only(world, &[&issue]);
            settings.policy.orphan_grace = TimeDelta::hours(2);
            assert_eq!(world.sweep_as(&settings).outcome(&issue), "healthy");
            settings.policy.orphan_grace = TimeDelta::milliseconds(500);
            assert_eq!(world.sweep_as(&settings).outcome(&issue), "continued");
        }
    }
}
