//! A process that was silent for too long goes on at the moment in which sweeps take its run: of the two, one goes on
//! with the work, and the other one is told.

use diesel::QueryResult;
use sweep::rules::issue::IssueFacts;
use sweep::rules::{Id, Policy};
use sweep::store::work::candidates::{Nominated, Part};
use sweep::store::work::runs::{RunEnd, end, note_heartbeat};
use sweep::store::{Access, Db, Timeouts};

use super::*;
use crate::support::in_process::examine_by;
use crate::support::rounds::rounds;

const SWEEPS: usize = 4;

/// What the process of a lost run does about its run; true if it takes the run for its own.
type Act = fn(&mut Db, &Id) -> QueryResult<bool>;

/// Each run either shows a sign of life or ends with its work done, as `sweep run` has it.
const ACTS: [Act; 2] = [note_heartbeat, |db, run| end(db, run, RunEnd::Succeeded, true)];

/// Issues at work, each with its run, and whether the run's process took it for its own beside sweeps. It acts on the
/// first one before they begin, and on the others as soon as they have taken one.
fn raced(world: &mut World, acts: [Act; 2]) -> Vec<(Id, Id, bool)> {
    let (stale, wakes) = (heard_of(world, 70), world.count("wakes"));
    let work: Vec<(Id, Id)> = (0..24).map(|_| at_work(world, &stale)).collect();
    let (settings, mut process) = (world.options(), world.connect_as_sweep());
    let patient = Timeouts { lock: TimeDelta::minutes(1), ..Timeouts::default() };
    let mut is_own = |n: usize| {
        let act = |db: &mut Db| acts[n % 2](db, &work[n].1);
        process.in_transaction(Access::Write, &patient, act).unwrap_or_else(|abort| panic!("{abort:?}"))
    };
    let mut own = vec![is_own(0)];
    thread::scope(|scope| {
        (0..SWEEPS).for_each(|_| drop(scope.spawn(|| sweep_once(&settings))));
        wait_until("a sweep has taken a run", || wakes < world.count("wakes"));
        own.extend((1..work.len()).map(&mut is_own));
    });
    // What was busy is looked at again.
    world.sweep();
    work.into_iter().zip(own).map(|((issue, run), is_own)| (issue, run, is_own)).collect()
}

on_each_database! {
    /// P19
    fn beside_sweeps_either_the_old_process_goes_on_or_its_successor_and_never_both(world) {
        for _ in rounds(0..15) {
            for (issue, run, is_own) in raced(world, ACTS) {
                assert_eq!(world.wakes_for(&issue), i64::from(!is_own), "{issue}");
                let [run, issue] = [("runs", &run), ("issues", &issue)].map(|(table, id)| world.status(table, id));
                assert_eq!(run == "interrupted", !is_own, "{issue}");
                assert_eq!(issue == "in_review", run == "succeeded");
            }
        }
    }

    /// The control of P19: a process that does not ask whether its run is still running goes on beside its successor.
    fn an_old_process_that_does_not_ask_goes_on_beside_its_successor(world) {
        let raced = raced(world, [|_, _| Ok(true); 2]);
        assert!(raced.iter().any(|(issue, _, is_own)| *is_own && world.wakes_for(issue) == 1));
    }

    /// P19
    fn a_sign_of_life_that_comes_after_the_scan_is_seen(world) {
        let stale = heard_of(world, 70);
        let (issue, run) = at_work(world, &stale);
        let mut db = world.connect_as_sweep();
        let scan = |db: &mut Db| IssueFacts::candidates(db, &Part::whole(), 1000);
        let named = db.in_transaction(Access::ReadOnly, &Timeouts::default(), scan).expect("candidates");
        assert!(named.iter().any(|candidate| candidate.id == issue));
        let beat = |db: &mut Db| note_heartbeat(db, &run);
        let mut process = world.connect_as_sweep();
        assert!(process.in_transaction(Access::Write, &Timeouts::default(), beat).expect("an answer"));

        let done = examine_by::<IssueFacts>(&mut db, &issue, &Policy::default());

        assert!(!done.is_change(), "{done}");
        assert_eq!((world.wakes_for(&issue), world.status("runs", &run).as_str()), (0, "running"));
    }
}
