//! The workers: one thread and one connection each, examining subjects side by side.
//!
//! The coordinator alone counts, reports and decides when to stop. It hands out a candidate only while there is room
//! in flight, so memory stays small, and while the limit could still bear it, so the limit is exact.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Error, Result};

use super::examine::{Examination, Lost, Terms, examine, settle};
use super::limits::Limits;
use super::scan::Scan;
use crate::report::{Deferred, Examined, Outcome};
use crate::rules::Id;
use crate::store::candidates::Candidate;
use crate::store::open::Url;
use crate::store::{Access, Db, Subject};

/// Subjects in flight for each worker: enough that none is idle while the coordinator reports.
const IN_FLIGHT_PER_WORKER: usize = 16;

/// The connections of a sweep, opened when first needed.
pub struct Workers {
    url: Url,
    access: Access,
    connections: Vec<Option<Db>>,
}

/// What the workers of one kind share.
struct Shift<'a> {
    url: &'a Url,
    access: Access,
    terms: &'a Terms<'a>,
    over: &'a Limits,
    /// A worker has no connection any more and could not get another.
    database_gone: AtomicBool,
}

/// One subject done.
struct Done {
    candidate: Candidate,
    /// None: it was not begun, since the sweep is ending.
    examined: Option<Examined>,
    /// Why there is no connection any more.
    database_gone: Option<Error>,
}

type Answer = thread::Result<Done>;

impl Workers {
    pub fn new(url: &Url, access: Access, connections: u32) -> Workers {
        // SQLite has one writer at a time: more would only wait for one another.
        let connections = match url {
            Url::Postgres(_) => connections,
            Url::Sqlite(_) => 1,
        };
        Workers { url: url.clone(), access, connections: (0..connections).map(|_| None).collect() }
    }

    /// Examines candidates until there are none, a limit is reached or a signal comes; returns those that were taken from the
    /// scan and not begun. What was begun is always finished and reported, also when this returns an error.
    pub fn examine_all<S: Subject>(
        &mut self,
        candidates: &mut Scan<S>,
        terms: &Terms,
        limits: &mut Limits,
        report: impl FnMut(Examined),
    ) -> Result<Deferred> {
        let over = limits.clone();
        let shift =
            Shift { url: &self.url, access: self.access, terms, over: &over, database_gone: AtomicBool::new(false) };
        thread::scope(|scope| {
            let (sender, answers) = channel();
            let queues = self.connections.iter_mut().map(|connection| {
                let ((queue, jobs), answers, shift) = (channel(), sender.clone(), &shift);
                scope.spawn(move || work::<S>(connection, shift, &jobs, &answers));
                queue
            });
            let queues: Vec<Sender<Candidate>> = queues.collect();
            drop(sender);
            coordinate(candidates, &queues, &answers, limits, report)
        })
    }
}

/// Hands out and counts until all that was handed out is answered.
fn coordinate(
    candidates: &mut impl Iterator<Item = Result<Candidate>>,
    queues: &[Sender<Candidate>],
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
                    // A worker that is gone has panicked: its answer says so.
                    let _ = queues[worker_of(&candidate.group, queues.len())].send(candidate);
                    in_flight += 1;
                }
            }
        }
        if in_flight == 0 {
            return failure.map_or(Ok(not_begun), Err);
        }
        let Done { candidate, examined, database_gone } = receive(answers);
        in_flight -= 1;
        failure = failure.or(database_gone);
        match examined {
            None => not_begun.add(Deferred { count: 1, oldest: candidate.since.instant() }),
            Some(examined) => {
                limits.count(examined.outcome);
                report(examined);
            }
        }
    }
}

/// Subjects of one group go to one worker: they lock the same rows, and would find one another busy.
fn worker_of(group: &Id, workers: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    group.hash(&mut hasher);
    (hasher.finish() % workers as u64) as usize
}

/// The next answer. A panic in a worker goes on here.
fn receive(answers: &Receiver<Answer>) -> Done {
    let answer = answers.recv().unwrap_or_else(|_| Err(Box::new("no worker is left") as Box<dyn Any + Send>));
    answer.unwrap_or_else(|panic| resume_unwind(panic))
}

fn work<S: Subject>(connection: &mut Option<Db>, shift: &Shift, jobs: &Receiver<Candidate>, answers: &Sender<Answer>) {
    for candidate in jobs {
        let answer = match shift.is_over() {
            true => Ok((None, None)),
            false => catch_unwind(AssertUnwindSafe(|| shift.examine::<S>(connection, &candidate.id))),
        };
        let answer = answer.map(|(examined, database_gone)| Done { candidate, examined, database_gone });
        let panicked = answer.is_err();
        if answers.send(answer).is_err() || panicked {
            return;
        }
    }
}

impl Shift<'_> {
    fn is_over(&self) -> bool {
        self.over.are_over() || self.database_gone.load(Ordering::Relaxed)
    }

    /// Examines on this worker's connection, or on a new one if it has none; and settles a commit whose answer was lost.
    fn examine<S: Subject>(&self, connection: &mut Option<Db>, id: &Id) -> (Option<Examined>, Option<Error>) {
        let db = match connection {
            Some(db) => db,
            None => match self.url.connect(self.access) {
                Ok(db) => connection.insert(db),
                Err(error) => return self.without_database(unexamined::<S>(id, &error, self.terms), error),
            },
        };
        let Examination { examined, lost } = examine::<S>(db, id, self.terms);
        if lost.is_some() {
            *connection = None;
        }
        let Some(Lost::Commit { entry_id, intended }) = lost else {
            return (Some(examined), None);
        };
        match self.url.connect(self.access) {
            Ok(db) => {
                let examined = settle::<S>(connection.insert(db), examined, &entry_id, intended, self.terms);
                (Some(examined), None)
            }
            Err(error) => self.without_database(examined, error),
        }
    }

    fn without_database(&self, examined: Examined, error: Error) -> (Option<Examined>, Option<Error>) {
        self.database_gone.store(true, Ordering::Relaxed);
        (Some(examined), Some(error))
    }
}

/// A subject for which there was no connection.
fn unexamined<S: Subject>(id: &Id, error: &Error, terms: &Terms) -> Examined {
    Examined {
        kind: S::KIND,
        id: id.clone(),
        identifier: None,
        tenant: None,
        finding: None,
        decision: None,
        reason: format!("{error:#}"),
        attempt: None,
        attempts_max: terms.policy.attempts_max,
        agent_id: None,
        idle_seconds: None,
        outcome: Outcome::Failed,
        shadow: terms.shadow,
        idle_since: None,
        ahead: None,
    }
}
