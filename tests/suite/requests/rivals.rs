//! P1, P16 for requests of people: beside sweeps that run, and beside one another.

use std::thread;

use sweep::rules::issue::IssueFacts;
use sweep::rules::request::Request;
use sweep::rules::session::SessionFacts;
use sweep::rules::step::StepFacts;
use sweep::rules::{Facts, Id};
use sweep::store::{Access, Db, DbConnection, Subject, Timeouts};
use sweep::sweep::Outcome;
use sweep::sweep::ask::Answer;

use crate::support::in_process::{Person, sweep_once, wake};
use crate::support::rounds::rounds;
use crate::support::world::{World, on_each_database, on_each_host};

const SUBJECTS: usize = 12;
const PEOPLE: usize = 3;

/// Runs two sweeps beside several people who make one request about each subject, and returns how often it was done.
fn together<S: Subject>(world: &World, ids: &[Id], request: Request) -> usize {
    let (settings, url) = (world.options(), world.url.as_str());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let swept = sweep_once(&settings);
                let failed = ["issues", "steps", "sessions"].map(|kind| {
                    let counts = &swept.json["kinds"][kind];
                    counts["failed"].as_i64().unwrap_or(0) + counts["unknown"].as_i64().unwrap_or(0)
                });
                assert_eq!(failed, [0, 0, 0], "{}", swept.json);
            });
        }
        let person = || {
            let mut person = Person::who_asks_for(url, request);
            ids.iter().filter(|id| is_done(person.asks::<S>(id))).count()
        };
        let people: Vec<_> = (0..PEOPLE).map(|_| scope.spawn(person)).collect();
        people.into_iter().map(|person| person.join().expect("a person")).sum()
    })
}

/// True if the request was done; false if it was refused, or somebody else held the subject.
fn is_done(answer: Answer) -> bool {
    match answer {
        Answer::Done(_) => true,
        Answer::Refused(..) => false,
        Answer::Failed(examined) => {
            assert_eq!(examined.outcome, Outcome::Busy, "{}", examined.reason);
            false
        }
    }
}

fn one_is_open_at_most(world: &mut World) {
    let doubled = "(select subject_id from recoveries where settled_at is null group by kind, subject_id
                    having 1 < count(*)) doubled";
    assert_eq!(world.count(doubled), 0);
}

on_each_host! {
    fn beside_sweeps_that_run_an_issue_gets_one_wake_whoever_is_first(world) {
        let mut asked = 0;
        for _ in rounds(0..15) {
            let agent = world.agent("idle");
            let issues: Vec<Id> = (0..SUBJECTS).map(|_| world.orphan(&agent)).collect();

            asked += together::<IssueFacts>(world, &issues, Request::Wake);

            for issue in &issues {
                assert_eq!(world.wakes_for(issue), 1);
            }
            one_is_open_at_most(world);
        }
        assert!(0 < asked, "a person was never first");
    }
}

mod own_tables {
    use super::*;

    on_each_database! {
        fn beside_sweeps_that_run_a_session_gets_one_nudge_whoever_is_first(world) {
            for _ in rounds(0..15) {
                let sessions: Vec<Id> = (0..SUBJECTS).map(|_| world.session(None, None)).collect();

                together::<SessionFacts>(world, &sessions, Request::Nudge);

                for session in &sessions {
                    assert_eq!(world.commands(session, "nudge"), 1);
                }
                one_is_open_at_most(world);
                world.deliver_commands();
            }
        }

        fn beside_sweeps_that_run_a_crashed_session_is_started_again_once(world) {
            for _ in rounds(0..15) {
                let sessions: Vec<Id> = (0..SUBJECTS).map(|_| world.session(None, None)).collect();
                sessions.iter().for_each(|session| world.ends(session, "1"));

                let asked = together::<SessionFacts>(world, &sessions, Request::Relaunch);

                assert_eq!(asked, SUBJECTS, "sweeps start none again");
                for session in &sessions {
                    assert_eq!(world.commands(session, "relaunch"), 1);
                }
                one_is_open_at_most(world);
            }
        }

        fn a_session_is_paused_and_resumed_once_for_each_that_asks(world) {
            for _ in rounds(0..15) {
                let sessions: Vec<Id> = (0..SUBJECTS).map(|_| world.session(None, None)).collect();
                for (request, column) in [(Request::Pause, "stall_paused"), (Request::Resume, "not stall_paused")] {
                    let asked = together::<SessionFacts>(world, &sessions, request);
                    assert!(asked <= SUBJECTS, "{asked}");
                    let ids: Vec<String> = sessions.iter().map(|id| format!("'{id}'")).collect();
                    let changed = world.count(&format!("sessions where {column} and id in ({})", ids.join(", ")));
                    assert_eq!(changed, asked as i64, "{column}");
                    one_is_open_at_most(world);
                    // A person whose subject was busy asks again.
                    let mut person = Person::who_asks_for(&world.url, request);
                    sessions.iter().for_each(|id| drop(person.asks::<SessionFacts>(id)));
                }
            }
        }

        fn signs_of_life_that_people_note_are_in_nobodys_way(world) {
            for _ in rounds(0..15) {
                let sessions: Vec<Id> = (0..SUBJECTS).map(|_| world.session(None, None)).collect();
                together::<SessionFacts>(world, &sessions, Request::Heartbeat);
                one_is_open_at_most(world);
            }
        }

        /// A step is skipped, or its agent is woken; never both.
        fn beside_sweeps_that_run_a_step_is_skipped_or_woken_and_never_both(world) {
            for request in [Request::SkipStep, Request::FailStep, Request::Wake] {
                for _ in rounds(0..15) {
                    let agent = world.agent("idle");
                    let steps: Vec<Id> = (0..SUBJECTS).map(|_| world.stalled_step(Some(&agent)).1).collect();

                    together::<StepFacts>(world, &steps, request);

                    for step in &steps {
                        let given_up = world.status("plan_steps", step) != "in_progress";
                        assert_eq!(world.wakes_for(step), i64::from(!given_up), "{request:?}");
                    }
                    one_is_open_at_most(world);
                }
            }
        }

        /// The negative control: two people who read, and write without a lock and without the ledger.
        fn whoever_looks_and_writes_without_the_lock_doubles_the_wake(world) {
            let agent = world.agent("idle");
            let issue = world.orphan(&agent);
            let mut people: Vec<DbConnection> = (0..2).map(|_| world.connect_as_sweep()).collect();
            let look = |db: &mut Db| IssueFacts::read(db, &issue);
            let seen: Vec<IssueFacts> = people
                .iter_mut()
                .filter_map(|db| db.in_transaction(Access::ReadOnly, &Timeouts::default(), look).expect("facts"))
                .collect();
            assert!(seen.iter().all(|facts| facts.history().open.is_none()));
            for (db, facts) in people.iter_mut().zip(&seen) {
                let write = |db: &mut Db| wake(db, facts);
                db.in_transaction(Access::Write, &Timeouts::default(), write).expect("a wake");
            }
            assert_eq!(world.wakes_for(&issue), 2);
        }
    }
}
