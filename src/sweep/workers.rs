//! The workers: one thread and one connection each, examining subjects side by side.
//!
//! The coordinator alone counts, reports and decides when to stop. It hands out a candidate only while there is room
//! in flight, so memory stays small, and while the limit could still bear it, so the limit is exact.

mod queues;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Error, Result};

use super::context::ExamineContext;
use super::examine::{Examination, Lost, examine};
use super::limits::Limits;
use super::outcome::Examined;
use super::scan::Scan;
use super::settle::settle;
use super::tally::Deferred;
use crate::store::candidates::{Candidate, Shard};
use crate::store::open::Url;
use crate::store::{Access, DbConnection, Subject};
use queues::Queues;

/// Subjects in flight for each worker: enough that none is idle while the coordinator reports.
const IN_FLIGHT_PER_WORKER: usize = 16;

/// The connections of a sweep, opened when first needed.
pub struct Workers {
    url: Url,
    access: Access,
    connections: Vec<Option<DbConnection>>,
}

/// What the workers of one kind share.
struct WorkerPool<'a> {
    url: &'a Url,
    access: Access,
    context: &'a ExamineContext<'a>,
    limits: Limits,
}

/// What became of one subject that was handed out.
struct Done {
    fate: Disposition,
    /// This worker could not get a connection: it examines nothing more.
    retired: Option<(usize, Error)>,
}

enum Disposition {
    Examined(Examined),
    /// Not begun, since the sweep is ending.
    Dropped(Candidate),
    /// Not begun, since this worker has no connection: another one may have.
    HandedBack(Candidate),
}

type Answer = thread::Result<Done>;

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
            coordinate(candidates, context.shard, queues, &answers, limits, report)
        })
    }
}

/// Hands out and counts until all that was handed out is answered.
fn coordinate(
    candidates: &mut impl Iterator<Item = Result<Candidate>>,
    shard: Option<Shard>,
    mut queues: Queues,
    answers: &Receiver<Answer>,
    limits: &mut Limits,
    mut report: impl FnMut(Examined),
) -> Result<Deferred> {
    let room = IN_FLIGHT_PER_WORKER * queues.len();
    let (mut in_flight, mut failure, mut not_begun) = (0usize, None, Deferred::default());
    loop {
        let bearable = limits.left.map_or(room, |left| room.min(left as usize));
        while failure.is_none() && in_flight < bearable && !limits.are_over() {
            match candidates.next() {
                None => break,
                Some(Err(error)) => failure = Some(error),
                Some(Ok(candidate)) => {
                    limits.progress.step();
                    // Passed over here, where the limits are looked at: a shard may have nothing of very many.
                    if shard.is_none_or(|shard| shard.has(&candidate.group)) {
                        queues.send(candidate);
                        in_flight += 1;
                    }
                }
            }
        }
        if in_flight == 0 {
            return failure.map_or(Ok(not_begun), Err);
        }
        let Done { fate, retired } = receive(answers);
        limits.progress.step();
        failure = failure.or(retired.and_then(|(worker, error)| queues.retire(worker, error)));
        match fate {
            Disposition::HandedBack(candidate) if failure.is_none() && !limits.are_over() => {
                queues.send(candidate);
                continue;
            }
            Disposition::HandedBack(candidate) | Disposition::Dropped(candidate) => {
                not_begun.add(Deferred { count: 1, oldest: candidate.since.instant() });
            }
            Disposition::Examined(examined) => {
                limits.count(examined.outcome);
                report(examined);
            }
        }
        in_flight -= 1;
    }
}

/// The next answer. A panic in a worker goes on here.
fn receive(answers: &Receiver<Answer>) -> Done {
    let answer = answers.recv().unwrap_or_else(|_| Err(Box::new("no worker is left") as Box<dyn Any + Send>));
    answer.unwrap_or_else(|panic| resume_unwind(panic))
}

fn work<S: Subject>(
    worker: usize,
    connection: &mut Option<DbConnection>,
    pool: &WorkerPool,
    jobs: &Receiver<Candidate>,
    answers: &Sender<Answer>,
) {
    let mut retired = false;
    for candidate in jobs {
        let answer = match (pool.limits.are_over(), retired) {
            (true, _) => Ok((Disposition::Dropped(candidate), None)),
            (false, true) => Ok((Disposition::HandedBack(candidate), None)),
            (false, false) => catch_unwind(AssertUnwindSafe(|| pool.examine::<S>(connection, candidate))),
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

impl WorkerPool<'_> {
    /// Examines on this worker's connection, or on a new one if it has none; and settles a commit whose answer was
    /// lost. Beside the fate: why no connection could be had.
    fn examine<S: Subject>(
        &self,
        connection: &mut Option<DbConnection>,
        candidate: Candidate,
    ) -> (Disposition, Option<Error>) {
        let db = match connection {
            Some(db) => db,
            None => match self.url.connect(self.access) {
                Ok(db) => connection.insert(db),
                Err(error) => return (Disposition::HandedBack(candidate), Some(error)),
            },
        };
        let Examination { examined, lost, refusal: _, is_committed: _ } = examine::<S>(db, &candidate.id, self.context);
        if lost.is_some() {
            *connection = None;
        }
        let Some(Lost::Commit { entry_id, intended }) = lost else {
            return (Disposition::Examined(examined), None);
        };
        match self.url.connect(self.access) {
            Ok(db) => {
                let examined = settle::<S>(connection.insert(db), examined, &entry_id, intended, self.context);
                (Disposition::Examined(examined), None)
            }
            Err(error) => (Disposition::Examined(examined), Some(error)),
        }
    }
}
