//! What may end a run, and which sign of life counts: the evidence is looked for when it is needed, and not remembered.

use sweep::rules::Id;

use super::signs_of_life::{at_work, heard_of, start};
use crate::support::world::{On, World, on_each_database};

/// Writes what a sweep writes about an issue that it continues.
fn continued_in_the_ledger(world: &mut World, issue: &Id) {
    let (id, sweep, now) = (Id::generate(), Id::generate(), world.ago(0));
    world.run(&format!(
        "insert into recoveries (id, sweep_id, kind, subject_id, action, reason, attempt, episode_began_at)
         values ('{id}', '{sweep}', 'issue', '{issue}', 'continue', 'why', 1, {now})"
    ));
}

on_each_database! {
    /// P19
    fn a_row_of_the_ledger_alone_ends_no_run_that_lives(world) {
        let [now, earlier] = [heard_of(world, 0), heard_of(world, 50)];
        for alive in [format!("lease_seconds = 60, {now}"), earlier, "heartbeat_at = null".to_owned()] {
            let (issue, run) = at_work(world, &alive);
            continued_in_the_ledger(world, &issue);
            assert_eq!(world.status("runs", &run), "running", "{alive}");
        }
    }

    fn a_row_of_the_ledger_ends_a_run_that_is_lost(world) {
        let [over, silent] = [heard_of(world, 2), heard_of(world, 70)];
        for dead in [format!("lease_seconds = 60, {over}"), silent] {
            let (issue, run) = at_work(world, &dead);
            continued_in_the_ledger(world, &issue);
            assert_eq!(world.status("runs", &run), "interrupted", "{dead}");
        }
    }

    /// P19: a program of the host's begins a run of a linked step, which no lock of the sweep's keeps it from.
    fn a_run_that_begins_while_its_issue_is_continued_goes_on(world) {
        let agent = world.agent("running");
        let issue = world.orphan(&agent);
        let (plan, step) = world.stalled_step(Some(&agent));
        world.set("plans", &plan, &format!("issue_id = '{issue}'"));
        world.set("plan_steps", &step, "status = 'pending'");
        let (run, now) = (Id::generate(), world.ago(0));
        let begin = format!(
            "insert into runs (id, agent_id, plan_step_id, status, heartbeat_at, lease_seconds)
             values ('{run}', '{agent}', '{step}', 'running', {now}, 300)"
        );
        world.run(&match world.on {
            On::Sqlite => format!("create trigger begin_run after insert on wakes begin {begin}; end"),
            _ => format!(
                "create function begin_run() returns trigger language plpgsql as $$ begin {begin}; return null; end $$;
                 create trigger begin_run after insert on wakes for each row execute function begin_run()"
            ),
        });

        assert_eq!(world.sweep().outcome(&issue), "continued");
        assert_eq!(world.status("runs", &run), "running");
    }

    fn a_late_sign_of_life_of_a_worker_moves_no_run_back(world) {
        let worker = start(world, "builder", 55);
        let fresh = heard_of(world, 1);
        let (_, run) = at_work(world, &format!("worker_id = '{worker}', {fresh}"));
        let heard = format!("runs where id = '{run}'");
        let before = world.text("heartbeat_at", &heard);
        for late in [world.ago(40), "null".to_owned()] {
            world.run(&format!("update workers set heartbeat_at = {late}"));
            assert_eq!(world.text("heartbeat_at", &heard), before, "{late}");
        }
    }

    /// P19
    fn a_sign_of_life_of_a_worker_keeps_the_leases_of_runs_that_wait(world) {
        let worker = start(world, "builder", 55);
        let stale = heard_of(world, 6);
        for status in ["queued", "scheduled_retry", "running"] {
            let (_, run) = at_work(world, &format!("worker_id = '{worker}', lease_seconds = 300, {stale}"));
            world.set("runs", &run, &format!("status = '{status}'"));
        }
        let now = world.ago(0);
        world.run(&format!("update workers set heartbeat_at = {now}"));
        world.sweep();
        assert_eq!((world.count("wakes"), world.count("runs where status = 'interrupted'")), (0, 0));
    }

    /// P19: the row of its run may come late, and so may the time of the new start.
    fn what_an_earlier_start_of_a_worker_still_writes_is_lost_as_well(world) {
        let [first, second] = [55, 1].map(|minutes| start(world, "builder", minutes));
        let now = heard_of(world, 0);
        let mut begun_by = |worker| at_work(world, &format!("worker_id = '{worker}', lease_seconds = 60, {now}"));
        let [(late, _), (_, present)] = [&first, &second].map(&mut begun_by);
        let third = start(world, "builder", -10);

        assert_eq!(world.sweep().outcome(&late), "continued");
        assert_eq!(world.status("runs", &present), "running", "the third start lies in the future");

        let moment = world.ago(0);
        world.set("workers", &third, &format!("started_at = {moment}"));
        world.sweep();
        assert_eq!(world.status("runs", &present), "interrupted");
    }

    fn a_run_that_the_new_start_of_its_worker_goes_on_with_is_not_lost(world) {
        let first = start(world, "builder", 55);
        let now = heard_of(world, 0);
        let (issue, run) = at_work(world, &format!("worker_id = '{first}', {now}"));
        let second = start(world, "builder", 1);
        world.set("runs", &run, &format!("worker_id = '{second}'"));
        assert_eq!((world.wakes_for(&issue), world.sweep().count("issues", "continued")), (0, 0));
        assert_eq!(world.status("runs", &run), "running");
    }
}

/// A machine that died in the middle of a transaction does not keep its successor from starting.
#[test]
fn a_worker_starts_while_a_transaction_of_its_predecessor_is_open() {
    let mut world = World::new(On::Postgres);
    let first = start(&mut world, "builder", 55);
    let (_, run) = at_work(&mut world, &format!("worker_id = '{first}'"));
    let mut dead = World::at(On::Postgres, world.url.clone(), None);
    dead.run(&format!("begin; update runs set heartbeat_at = now() where id = '{run}'"));
    world.run("set lock_timeout = '100ms'");
    start(&mut world, "builder", 0);
    assert_eq!(world.count("workers"), 2);
}
