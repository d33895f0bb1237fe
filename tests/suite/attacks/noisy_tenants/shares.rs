//! Each tenant has its share of every sweep, whatever of another is older, waits, or is of another kind.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use sweep::rules::issue::IssueFacts;
use sweep::rules::{Id, Kind};
use sweep::store::work::candidates::{Nominated, Part};
use sweep::sweep::{KindMode, Options};

use crate::support::world::tenants::Tenant;
use crate::support::world::{On, World, on_each_database, on_each_host};

/// A sweep that does at most so much, however much of a tenant or of an agent looks stranded.
fn limited(world: &World, limit: u32) -> Options {
    Options { limit: Some(limit), guard: None, wakes_per_agent_max: limit, ..world.options() }
}

/// Gives each tenant so many orphans, one tenant's all older than the next one's.
fn tenants_with(world: &mut World, orphans: &[u32]) -> Vec<Vec<Id>> {
    let mut oldest = 0;
    let of_tenant = |(n, &orphans): (usize, &u32)| {
        let tenant = world.tenant(&format!("t{n}"));
        oldest += orphans;
        world.orphans_of(&tenant, oldest - orphans..oldest)
    };
    orphans.iter().enumerate().map(of_tenant).collect()
}

/// In every sweep each tenant gets its share of the limit, or all that it has left; if the limit is smaller than the
/// number of tenants, none of them waits for longer than it takes until each had its turn. What was continued either
/// waits, or is done before the next sweep.
fn each_gets_its_share(on: On, orphans: &[u32], limit: u32, is_done_soon: bool) {
    let mut world = World::new(on);
    let tenants = tenants_with(&mut world, orphans);
    let (share, round) = (limit / orphans.len() as u32, (orphans.len() as u32).div_ceil(limit));
    let (mut done, mut waited) = (vec![0; tenants.len()], vec![0; tenants.len()]);
    while done.iter().zip(orphans).any(|(done, orphans)| done < orphans) {
        world.sweep_as(&limited(&world, limit));
        if is_done_soon {
            world.run("update issues set status = 'done' where id in (select issue_id from wakes)");
        }
        for (tenant, issues) in tenants.iter().enumerate() {
            let before = done[tenant];
            done[tenant] = issues.iter().map(|issue| world.wakes_for(issue)).sum::<i64>() as u32;
            let is_served = before < done[tenant] || done[tenant] == orphans[tenant];
            waited[tenant] = if is_served { 0 } else { waited[tenant] + 1 };
            let least = before + share.min(orphans[tenant] - before);
            assert!(least <= done[tenant] && waited[tenant] < round, "{orphans:?} by {limit}: {done:?}, {waited:?}");
        }
    }
}

#[test]
fn no_tenant_waits_longer_than_its_share_of_the_sweeps() {
    let tenants = prop::collection::vec(1..20_u32, 1..6);
    let mut runner = TestRunner::new(Config { cases: 6, failure_persistence: None, ..Config::default() });
    let played = runner.run(&(tenants, 1..20_u32, any::<bool>()), |(orphans, limit, is_done_soon)| {
        each_gets_its_share(On::Sqlite, &orphans, limit, is_done_soon);
        Ok(())
    });
    played.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn two_large_tenants_do_not_keep_small_ones_waiting_on_postgres() {
    each_gets_its_share(On::Postgres, &[3, 30, 40], 9, false);
    each_gets_its_share(On::Postgres, &[1, 4, 9, 2], 2, true);
}

on_each_host! {
    fn what_waits_for_its_wake_comes_no_sooner_than_what_was_not_continued_yet(world) {
        let tenant = world.tenant("acme");
        let old = world.orphans_of(&tenant, 10..13);
        world.sweep();
        let young = world.orphans_of(&tenant, 0..2);

        let first = IssueFacts::candidates_in_turns(&mut world.connect(), &Part::whole(), 4).expect("candidates");

        let first: Vec<Id> = first.into_iter().map(|candidate| candidate.id).collect();
        assert_eq!(first, [&young[1], &old[2], &young[0], &old[1]].map(Clone::clone));
    }
}

mod kinds {
    use super::*;

    on_each_database! {
        fn a_tenant_whose_work_is_open_in_part_has_no_second_share(world) {
            let [acme, other] = ["acme", "other"].map(|name| world.tenant(name));
            world.orphans_of(&acme, 20..23);
            world.sweep();
            world.orphans_of(&acme, 0..3);
            world.orphans_of(&other, 10..16);

            let first = IssueFacts::candidates_in_turns(&mut world.connect(), &Part::whole(), 6).expect("candidates");

            let of_other = first.iter().filter(|candidate| candidate.group == other.agent).count();
            assert_eq!(of_other, 3, "{first:?}");
        }

        /// A clock that was ahead has dated the ledger's row of one tenant.
        fn a_tenant_that_was_served_in_the_future_has_its_turn(world) {
            let tenants = tenants_with(world, &[4, 4]);
            let ahead = world.ago(-60 * 24 * 300);
            world.sweep_as(&limited(world, 1));
            world.run(&format!("update recoveries set created_at = {ahead}, settled_at = {ahead}"));
            for _ in 0..3 {
                world.sweep_as(&limited(world, 1));
            }
            let served = tenants.iter().map(|issues| issues.iter().map(|issue| world.wakes_for(issue)).sum::<i64>());
            assert_eq!(served.collect::<Vec<_>>(), [1, 3], "the second one's issues are older");
        }

        fn what_is_in_shadow_takes_nothing_of_the_limit(world) {
            let Tenant { agent, .. } = world.tenant("acme");
            world.orphans(&agent, 100..125);
            world.stalled_steps(&agent, 0..20);
            let options = Options { modes: [(Kind::Step, KindMode::Shadow)].into(), ..limited(world, 10) };

            let swept = world.sweep_as(&options);

            assert_eq!(swept.count("issues", "continued"), 10);
        }

        fn the_steps_of_a_tenant_have_their_share_of_the_limit_beside_the_issues_of_another(world) {
            let Tenant { agent, .. } = world.tenant("evil");
            world.orphans(&agent, 100..125);
            let steps = world.stalled_steps(&agent, 0..2);

            let swept = world.sweep_as(&limited(world, 9));

            assert_eq!((swept.count("issues", "continued"), swept.count("steps", "continued")), (7, 2));
            assert!(steps.iter().all(|step| swept.outcome(step) == "continued"));
        }
    }
}
