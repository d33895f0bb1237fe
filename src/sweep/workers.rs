//! The workers: one thread and one connection each, taking up subjects side by side.
//!
//! The coordinator alone counts, reports and decides when to stop. It looks at the candidates and hands out those about
//! which something is to be written: only while there is room in flight, so memory stays small, while the limit could
//! still bear it, so the limit is exact, and while a wake is left for the agent, so the oldest of his work gets it.

mod queues;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Error, Result};

use super::context::ExamineContext;
use super::examine::look::{Looked, Seen};
use super::examine::{Examination, Lost, examine, take_up};
use super::limits::{Full, Limits, Reservation};
use super::outcome::Examined;
use super::scan::Scan;
use super::settle::settle;
use super::tally::Deferred;
use crate::store::candidates::Candidate;
use crate::store::open::Url;
use crate::store::{Access, DbConnection, Subject};
use queues::{Job, Queues};

/// Subjects in flight for each worker: enough that none is idle while the coordinator looks at the next thousand.
const IN_FLIGHT_PER_WORKER: usize = 64;

/// The connections of a sweep, opened when first needed.
pub struct Workers {
    url: Url,
    access: Access,
    connections: Vec<Option<DbConnection>>,
}

/// What the workers of one kind share.
struct WorkerPool<'p, 'a> {
    url: &'p Url,
    access: Access,
    context: &'p ExamineContext<'a>,
    limits: Limits,
}

/// What became of one subject that was handed out.
struct Done<'a> {
    fate: Disposition<'a>,
    /// This worker could not get a connection: it examines nothing more.
    retired: Option<(usize, Error)>,
}

enum Disposition<'a> {
    Examined(Examined),
    /// Not begun, since the sweep is ending.
    Dropped(Candidate),
    /// Not begun, since this worker has no connection: another one may have.
    HandedBack(Job<'a>),
}

type Answer<'a> = thread::Result<Done<'a>>;

impl Workers {
    pub fn new(url: &Url, access: Access, connections: u32) -> Workers {
        // SQLite has one writer at a time: more would only wait for one another.
        let connections = match url {
            Url::Postgres(..) => connections,
            Url::Sqlite(_) => 1,
        };
        Workers { url: url.clone(), access, connections: (0..connections).map(|_| None).collect() }
    }

    /// Examines candidates until there are none, a limit is reached or a signal comes; returns those that were taken
    /// from the scan and not begun. What was begun is always finished and reported, also when this returns an error.
    pub fn examine_all<S: Subject>(
        &mut self,
        candidates: &mut Scan<S>,
        context: &ExamineContext,
        limits: &mut Limits,
        report: impl FnMut(Examined),
    ) -> Result<Deferred> {
        let pool = WorkerPool { url: &self.url, access: self.access, context, limits: limits.clone() };
        thread::scope(|scope| {
            let (sender, answers) = channel();
            let queues = self.connections.iter_mut().enumerate().map(|(worker, connection)| {
                let ((queue, jobs), answers, pool) = (channel(), sender.clone(), &pool);
                scope.spawn(move || work::<S>(worker, connection, pool, &jobs, &answers));
                queue
            });
            let queues = Queues::new(queues.collect());
            drop(sender);
            coordinate(candidates, context, queues, &answers, limits, report)
        })
    }
}

/// Hands out and counts until all that was handed out is answered.
fn coordinate<'a>(
    candidates: &mut impl Iterator<Item = Result<Looked>>,
    context: &ExamineContext<'a>,
    mut queues: Queues<'a>,
    answers: &Receiver<Answer<'a>>,
    limits: &mut Limits,
    mut report: impl FnMut(Examined),
) -> Result<Deferred> {
    let room = IN_FLIGHT_PER_WORKER * queues.len();
    let (mut in_flight, mut failure, mut not_begun) = (0usize, None, Deferred::default());
    let mut waiting = None;
    loop {
        while failure.is_none() && in_flight < limits.bearable(room) && !limits.are_over() {
            let Some(looked) = waiting.take().map(Ok).or_else(|| candidates.next()) else { break };
            limits.progress.step();
            match looked.map(|looked| next_step(looked, context)) {
                Err(error) => failure = Some(error),
                Ok(NextStep::PassOver) => {}
                Ok(NextStep::Report(examined)) => {
                    limits.count(examined.outcome);
                    report(*examined);
                }
                Ok(NextStep::HandOut(job)) => {
                    queues.send(*job);
                    in_flight += 1;
                }
                Ok(NextStep::Wait(looked)) => {
                    waiting = Some(*looked);
                    break;
                }
            }
        }
        if in_flight == 0 {
            waiting.iter().for_each(|looked: &Looked| not_begun.add(left(&looked.candidate)));
            return failure.map_or(Ok(not_begun), Err);
        }
        let Done { fate, retired } = receive(answers);
        limits.progress.step();
        failure = failure.or(retired.and_then(|(worker, error)| queues.retire(worker, error)));
        match fate {
            Disposition::HandedBack(job) if failure.is_none() && !limits.are_over() => {
                queues.send(job);
                continue;
            }
            Disposition::HandedBack(Job { candidate, .. }) | Disposition::Dropped(candidate) => {
                not_begun.add(left(&candidate));
            }
            Disposition::Examined(examined) => {
                limits.count(examined.outcome);
                report(examined);
            }
        }
        in_flight -= 1;
    }
}

fn left(candidate: &Candidate) -> Deferred {
    Deferred { count: 1, oldest: candidate.since.instant() }
}

/// What comes next for a candidate that was looked at.
enum NextStep<'a> {
    PassOver,
    Report(Box<Examined>),
    HandOut(Box<Job<'a>>),
    /// Its agent's last wakes are reserved, and may yet be given back.
    Wait(Box<Looked>),
}

fn next_step<'a>(looked: Looked, context: &ExamineContext<'a>) -> NextStep<'a> {
    let Looked { candidate, seen } = looked;
    let wanted = match seen {
        Seen::OfAnotherShard => return NextStep::PassOver,
        Seen::Decided(examined) => return NextStep::Report(examined),
        Seen::Nothing => {
            let lock_group = candidate.group.clone();
            return NextStep::HandOut(Box::new(Job { candidate, lock_group, is_looked_at: false, wake: None }));
        }
        Seen::Wanted(wanted) => wanted,
    };
    let wake = match wanted.agent.as_ref().map(|agent| context.wakes.reserve(agent)).transpose() {
        Ok(wake) => wake,
        Err(Full::ForNow) => return NextStep::Wait(Box::new(Looked { candidate, seen: Seen::Wanted(wanted) })),
        Err(Full::ForGood) => return NextStep::Report(Box::new(wanted.deferred(context))),
    };
    let lock_group = wanted.lock_group;
    NextStep::HandOut(Box::new(Job { candidate, lock_group, is_looked_at: true, wake }))
}

/// The next answer. A panic in a worker goes on here.
fn receive<'a>(answers: &Receiver<Answer<'a>>) -> Done<'a> {
    let answer = answers.recv().unwrap_or_else(|_| Err(Box::new("no worker is left") as Box<dyn Any + Send>));
    answer.unwrap_or_else(|panic| resume_unwind(panic))
}

fn work<'a, S: Subject>(
    worker: usize,
    connection: &mut Option<DbConnection>,
    pool: &WorkerPool<'_, 'a>,
    jobs: &Receiver<Job<'a>>,
    answers: &Sender<Answer<'a>>,
) {
    let mut retired = false;
    for job in jobs {
        let answer = match (pool.limits.are_over(), retired) {
            (true, _) => Ok((Disposition::Dropped(job.candidate), None)),
            (false, true) => Ok((Disposition::HandedBack(job), None)),
            (false, false) => catch_unwind(AssertUnwindSafe(|| pool.examine::<S>(connection, job))),
        };
        let panicked = answer.is_err();
        let answer = answer.map(|(fate, error)| {
            retired |= error.is_some();
            Done { fate, retired: error.map(|error| (worker, error)) }
        });
        if answers.send(answer).is_err() || panicked {
            return;
        }
    }
}

impl<'a> WorkerPool<'_, 'a> {
    /// Examines on this worker's connection, or on a new one if it has none; and settles a commit whose answer was
    /// lost. Beside the fate: why no connection could be had.
    fn examine<S: Subject>(
        &self,
        connection: &mut Option<DbConnection>,
        job: Job<'a>,
    ) -> (Disposition<'a>, Option<Error>) {
        let db = match connection {
            Some(db) => db,
            None => match self.url.connect(self.access) {
                Ok(db) => connection.insert(db),
                Err(error) => return (Disposition::HandedBack(job), Some(error)),
            },
        };
        let Job { candidate: Candidate { id, .. }, is_looked_at, wake, .. } = job;
        let examination = match is_looked_at {
            true => take_up::<S>(db, &id, self.context, wake),
            false => examine::<S>(db, &id, self.context),
        };
        let Examination { examined, lost, refusal: _, is_committed: _ } = examination;
        if lost.is_some() {
            *connection = None;
        }
        let Some(Lost::Commit { entry_id, intended, wake }) = lost else {
            return (Disposition::Examined(examined), None);
        };
        match self.url.connect(self.access) {
            Ok(db) => {
                let db = connection.insert(db);
                (Disposition::Examined(settle::<S>(db, examined, &entry_id, intended, wake, self.context)), None)
            }
            Err(error) => {
                // It may have been queued.
                wake.into_iter().for_each(Reservation::keep);
                (Disposition::Examined(examined), Some(error))
            }
        }
    }
}
