//! The workers: one thread and one connection each, examining subjects side by side.
//!
//! The coordinator alone counts, reports and decides when to stop. It hands out a candidate only while there is room
//! in flight, so memory stays small, and while the limit could still bear it, so the limit is exact.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Error, Result};

use super::examine::{Lost, Terms, examine, settle};
use super::signals::Stop;
use crate::report::{Examined, Outcome};
use crate::rules::Id;
use crate::store::open::Url;
use crate::store::{Candidate, Db, Subject};

/// Subjects in flight for each worker: enough that none is idle while the coordinator fetches a page.
const IN_FLIGHT_PER_WORKER: usize = 64;

/// The connections of a sweep, opened when first needed.
pub struct Workers {
    url: Url,
    connections: Vec<Option<Db>>,
}

/// One subject done. `database_gone`: why the worker has no connection any more and could not get another.
struct Done {
    examined: Examined,
    database_gone: Option<Error>,
}

type Answer = thread::Result<Done>;

impl Workers {
    pub fn new(url: &Url, connections: u32) -> Workers {
        // SQLite has one writer at a time: more would only wait for one another.
        let connections = match url {
            Url::Postgres(_) => connections,
            Url::Sqlite(_) => 1,
        };
        Workers { url: url.clone(), connections: (0..connections).map(|_| None).collect() }
    }

    /// Examines candidates until there are none, the limit is reached or a signal comes. What is in flight is always
    /// finished and reported, also when this returns an error.
    pub fn examine_all<S: Subject>(
        &mut self,
        candidates: impl Iterator<Item = Result<Candidate>>,
        terms: &Terms,
        limit: &mut Option<u32>,
        stop: &Stop,
        mut report: impl FnMut(Examined),
    ) -> Result<()> {
        let room = IN_FLIGHT_PER_WORKER * self.connections.len();
        let mut candidates = candidates.fuse();
        let (mut in_flight, mut failure) = (0usize, None);
        thread::scope(|scope| {
            let (sender, answers) = channel();
            let url = &self.url;
            let queues: Vec<Sender<Id>> = self
                .connections
                .iter_mut()
                .map(|connection| {
                    let (queue, jobs) = channel();
                    let answers = sender.clone();
                    scope.spawn(move || work::<S>(connection, url, &jobs, &answers, terms));
                    queue
                })
                .collect();
            loop {
                let bearable = limit.map_or(room, |left| room.min(left as usize));
                while failure.is_none() && !stop.is_set() && in_flight < bearable {
                    match candidates.next() {
                        None => break,
                        Some(Err(error)) => failure = Some(error),
                        Some(Ok(candidate)) => {
                            // A worker that is gone has panicked: its answer says so.
                            let _ = queues[worker_of(&candidate.group, queues.len())].send(candidate.id);
                            in_flight += 1;
                        }
                    }
                }
                if in_flight == 0 {
                    break;
                }
                let done = receive(&answers);
                in_flight -= 1;
                if done.examined.outcome.is_costly() {
                    *limit = limit.map(|left| left - 1);
                }
                failure = failure.take().or(done.database_gone);
                report(done.examined);
            }
        });
        failure.map_or(Ok(()), Err)
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

fn work<S: Subject>(
    connection: &mut Option<Db>,
    url: &Url,
    jobs: &Receiver<Id>,
    answers: &Sender<Answer>,
    terms: &Terms,
) {
    for id in jobs {
        let answer = catch_unwind(AssertUnwindSafe(|| examine_connected::<S>(connection, url, &id, terms)));
        let panicked = answer.is_err();
        if answers.send(answer).is_err() || panicked {
            return;
        }
    }
}

/// Examines on this worker's connection, or on a new one if it has none; and settles a commit whose answer was lost.
fn examine_connected<S: Subject>(connection: &mut Option<Db>, url: &Url, id: &Id, terms: &Terms) -> Done {
    let db = match connection {
        Some(db) => db,
        None => match url.connect(terms.access) {
            Ok(db) => connection.insert(db),
            Err(error) => {
                return Done { examined: unexamined::<S>(id, &error, terms), database_gone: Some(error) };
            }
        },
    };
    let examination = examine::<S>(db, id, terms);
    let Some(lost) = examination.lost else {
        return Done { examined: examination.examined, database_gone: None };
    };
    *connection = None;
    let Lost::Commit { entry_id, intended } = lost else {
        return Done { examined: examination.examined, database_gone: None };
    };
    match url.connect(terms.access) {
        Ok(db) => {
            let db = connection.insert(db);
            Done { examined: settle::<S>(db, examination.examined, &entry_id, intended, terms), database_gone: None }
        }
        Err(error) => Done { examined: examination.examined, database_gone: Some(error) },
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
        idle_seconds: None,
        outcome: Outcome::Failed,
        idle_since: None,
    }
}
