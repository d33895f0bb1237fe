//! One worker: takes up the subjects that it is given, and answers for each.
//!
//! A subject's transaction ends in the message that begins the next one's, and its answer is given then. While nothing
//! else is to be done, it ends at once: nothing stays locked for want of work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};

use anyhow::Error;

use super::queues::Job;
use super::{Answer, Disposition, Done};
use crate::store::open::Url;
use crate::store::{Access, DbConnection, End, Subject};
use crate::sweep::context::ExamineContext;
use crate::sweep::examine::{Examination, Lost, TakenUp, examine, take_up};
use crate::sweep::limits::{Limits, Reservation};
use crate::sweep::settle::settle;

/// What the workers of one kind share.
pub struct Shared<'p, 'a> {
    pub url: &'p Url,
    pub access: Access,
    pub context: &'p ExamineContext<'a>,
    pub limits: Limits,
}

pub struct Worker<'p, 'a, S> {
    number: usize,
    connection: &'p mut Option<DbConnection>,
    shared: &'p Shared<'p, 'a>,
    answers: Sender<Answer<'a>>,
    /// Its transaction has not ended.
    taken_up: Option<TakenUp<'a, S>>,
    /// It could not get a connection: it takes up nothing more.
    is_retired: bool,
}

impl<'p, 'a, S: Subject> Worker<'p, 'a, S> {
    pub fn new(
        number: usize,
        connection: &'p mut Option<DbConnection>,
        shared: &'p Shared<'p, 'a>,
        answers: Sender<Answer<'a>>,
    ) -> Worker<'p, 'a, S> {
        Worker { number, connection, shared, answers, taken_up: None, is_retired: false }
    }

    /// Until nobody has anything more for it. A panic goes on where the answers are received.
    pub fn work(mut self, jobs: &Receiver<Job<'a>>) {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let job = match self.taken_up {
                    None => jobs.recv().map_err(|_| TryRecvError::Disconnected),
                    Some(_) => jobs.try_recv(),
                };
                match job {
                    Ok(job) => self.begin(job),
                    Err(TryRecvError::Empty) => self.end(),
                    Err(TryRecvError::Disconnected) => break self.end(),
                }
            }
        }));
        if let Err(panic) = worked {
            let _ = self.answers.send(Err(panic));
        }
    }

    fn begin(&mut self, job: Job<'a>) {
        if self.shared.limits.are_over() {
            return self.answer(Disposition::Dropped(job.candidate));
        }
        if let Err(error) = self.connect() {
            return self.retire(Disposition::HandedBack(job), error);
        }
        match job.is_looked_at {
            true => self.take_up(job),
            false => {
                self.end();
                self.examine(job);
            }
        }
    }

    /// One that could not be looked at with the others.
    fn examine(&mut self, job: Job<'a>) {
        if let Err(error) = self.connect() {
            return self.retire(Disposition::HandedBack(job), error);
        }
        let Some(db) = &mut *self.connection else { return };
        let examination = examine::<S>(db, &job.candidate.id, self.shared.context);
        self.report(examination);
    }

    fn take_up(&mut self, job: Job<'a>) {
        let (Shared { context, access, .. }, Some(db)) = (self.shared, &mut *self.connection) else { return };
        let begin = db.begin_repeated(*access, &context.timeouts, context.durable);
        let (ended, begun) = db.begin_next(&begin);
        let is_alive = self.conclude(ended);
        if !is_alive {
            // The connection that was lost had not begun it.
            return self.begin(job);
        }
        let Some(db) = &mut *self.connection else { return };
        let id = job.candidate.id;
        match begun {
            Ok(()) => {
                let taken_up = take_up(db, id, context, job.wake);
                let is_written = taken_up.is_written();
                self.taken_up = Some(taken_up);
                // Whatever else came of it, why may have to be asked for.
                if !is_written {
                    self.end();
                }
            }
            Err(abort) => {
                let (taken_up, end) = TakenUp::not_begun(id, abort);
                self.taken_up = Some(taken_up);
                self.conclude(Some(end));
            }
        }
    }

    /// Ends the transaction that is under way.
    fn end(&mut self) {
        let ended = self.connection.as_mut().and_then(DbConnection::end);
        self.conclude(ended);
    }

    /// Answers for the subject whose transaction has ended. Returns whether the connection survived it.
    fn conclude(&mut self, ended: Option<End>) -> bool {
        let (Some(taken_up), Some(end), Some(db)) = (self.taken_up.take(), ended, &mut *self.connection) else {
            return true;
        };
        let examination = taken_up.conclude(db, end, self.shared.context);
        self.report(examination)
    }

    /// Answers, and settles a commit whose answer was lost. Returns whether the connection survived.
    fn report(&mut self, examination: Examination<'a>) -> bool {
        let Examination { examined, lost, refusal: _, is_committed: _ } = examination;
        let Some(lost) = lost else {
            self.answer(Disposition::Examined(examined));
            return true;
        };
        *self.connection = None;
        let Lost::Commit { entry_id, intended, wake } = lost else {
            self.answer(Disposition::Examined(examined));
            return false;
        };
        let context = self.shared.context;
        match self.connect() {
            Ok(db) => {
                let settled = settle::<S>(db, examined, &entry_id, intended, wake, context);
                self.answer(Disposition::Examined(settled));
            }
            Err(error) => {
                // It may have been queued.
                wake.into_iter().for_each(Reservation::keep);
                self.retire(Disposition::Examined(examined), error);
            }
        }
        false
    }

    fn connect(&mut self) -> Result<&mut DbConnection, Option<Error>> {
        if self.is_retired {
            return Err(None);
        }
        if self.connection.is_none() {
            *self.connection = Some(self.shared.url.connect(self.shared.access)?);
        }
        self.connection.as_mut().ok_or(None)
    }

    fn answer(&mut self, fate: Disposition<'a>) {
        let _ = self.answers.send(Ok(Done { fate, retired: None }));
    }

    /// Answers, and says once why this worker has no connection.
    fn retire(&mut self, fate: Disposition<'a>, error: Option<Error>) {
        self.is_retired = true;
        let retired = error.map(|error| (self.number, error));
        let _ = self.answers.send(Ok(Done { fate, retired }));
    }
}
