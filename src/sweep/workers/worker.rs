//! One worker: takes up the subjects that it is given, and answers for each.
//!
//! A subject's transaction ends in the message that begins the next one's. While nothing else is to be done, it ends at
//! once: nothing stays locked for want of work. What is committed is answered for when it is on disk, of several
//! subjects at once.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};

use anyhow::Error;

use super::answers::{Answer, Disposition, Done};
use super::contended::Contended;
use super::queues::Job;
use crate::rules::Id;
use crate::store::connect::open::Url;
use crate::store::db::errors;
use crate::store::{Access, DbConnection, Durable, End, Subject};
use crate::sweep::context::ExamineContext;
use crate::sweep::examine::{Examination, Lost, TakenUp, look_alone, take_up};
use crate::sweep::limits::{Limits, Reservation};
use crate::sweep::outcome::{Examined, Fault, Outcome};
use crate::sweep::settle::settle;

/// How long what was committed waits to be flushed with others: longer than a disk takes, shorter than anybody notices.
const FLUSHED_WITHIN: Duration = Duration::from_millis(100);

/// What the workers of one kind share.
pub struct Shared<'p, 'a> {
    pub url: &'p Url,
    pub access: Access,
    pub context: &'p ExamineContext<'a>,
    pub limits: Limits,
    pub contended: Contended,
}

pub struct Worker<'p, 'a, S> {
    number: usize,
    connection: &'p mut Option<DbConnection>,
    shared: &'p Shared<'p, 'a>,
    answers: Sender<Answer<'a>>,
    /// Its transaction has not ended.
    taken_up: Option<TakenUp<'a, S>>,
    /// Committed, and perhaps not on disk yet.
    unflushed: Vec<Unflushed>,
    /// The server knows how it takes subjects of this kind.
    is_prepared: bool,
    /// It could not get a connection: it takes up nothing more.
    is_retired: bool,
}

/// One that is not answered for yet.
struct Unflushed {
    examined: Examined,
    entry_id: Id,
    committed_at: Instant,
}

impl<'p, 'a, S: Subject> Worker<'p, 'a, S> {
    pub fn new(
        number: usize,
        connection: &'p mut Option<DbConnection>,
        shared: &'p Shared<'p, 'a>,
        answers: Sender<Answer<'a>>,
    ) -> Worker<'p, 'a, S> {
        Worker {
            number,
            connection,
            shared,
            answers,
            taken_up: None,
            unflushed: Vec::new(),
            is_prepared: false,
            is_retired: false,
        }
    }

    /// Until nobody has anything more for it. A panic goes on where the answers are received.
    pub fn work(mut self, jobs: &Receiver<Job<'a>>) {
        let worked = catch_unwind(AssertUnwindSafe(|| {
            loop {
                let job = match self.is_under_way() {
                    false => jobs.recv().map_err(|_| TryRecvError::Disconnected),
                    true => jobs.try_recv(),
                };
                match job {
                    Ok(job) => self.begin(job),
                    Err(TryRecvError::Empty) => self.flush(),
                    Err(TryRecvError::Disconnected) => break self.flush(),
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
        if !job.is_pinned && self.shared.contended.has(&job.candidate.group) {
            // Whoever does it now is not to wait for what this one has in hand.
            self.end();
            return self.answer(Disposition::HandedBack(job));
        }
        // Before it is connected: the connection may be lost with it.
        if self.taken_up.is_none() && is_flush_due(&self.unflushed) {
            self.flush();
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
        match look_alone::<S>(db, &job.candidate.id, self.shared.context) {
            Some(Examination { examined, lost, .. }) => {
                self.report(examined, lost);
            }
            None => self.take_up(Job { is_looked_at: true, ..job }),
        }
    }

    fn take_up(&mut self, job: Job<'a>) {
        let (Shared { context, access, .. }, Some(db)) = (self.shared, &mut *self.connection) else { return };
        if !self.is_prepared {
            db.plan_taking(S::KIND, &context.timeouts);
            self.is_prepared = true;
        }
        let begin = db.begin_repeated(*access, &context.timeouts, context.durable);
        let flush = is_flush_due(&self.unflushed);
        let (ended, begun) = db.begin_next(&begin, flush);
        let is_alive = self.conclude(ended, flush);
        if !is_alive {
            // The connection that was lost had not begun it.
            return self.begin(job);
        }
        let Some(db) = &mut *self.connection else { return };
        let id = job.candidate.id.clone();
        if let Err(abort) = begun {
            drop(job);
            let (taken_up, end) = TakenUp::not_begun(id, abort);
            self.taken_up = Some(taken_up);
            self.conclude(Some(end), false);
            return;
        }
        let taken_up = take_up(db, id, context, job.wake);
        let (is_written, is_contended) = (taken_up.is_written(), taken_up.is_contended());
        if is_contended && !job.is_pinned {
            // All work of this agent goes to one worker now.
            self.shared.contended.add(&job.candidate.group);
            let ended = db.end();
            if matches!(ended, Some(End::RolledBack)) {
                return self.answer(Disposition::HandedBack(Job { wake: taken_up.into_wake(), ..job }));
            }
            self.taken_up = Some(taken_up);
            self.conclude(ended, true);
            return;
        }
        self.taken_up = Some(taken_up);
        // Whatever else came of it, why may have to be asked for.
        if !is_written {
            self.end();
        }
    }

    /// Is there something that nobody has been answered for?
    fn is_under_way(&self) -> bool {
        self.taken_up.is_some() || !self.unflushed.is_empty()
    }

    /// Ends the transaction that is under way.
    fn end(&mut self) {
        let ended = self.connection.as_mut().and_then(DbConnection::end);
        self.conclude(ended, true);
    }

    /// Ends the transaction that is under way, and answers for all.
    fn flush(&mut self) {
        self.end();
        let (Shared { context, .. }, false) = (self.shared, self.unflushed.is_empty()) else { return };
        match self.connection.as_mut().map(|db| db.flush(&context.timeouts)) {
            Some(Ok(())) => self.answer_flushed(),
            Some(Err(error)) => {
                *self.connection = None;
                self.lose(&errors::error_chain(&error));
            }
            None => self.lose("the connection was lost"),
        }
    }

    fn answer_flushed(&mut self) {
        for Unflushed { examined, .. } in std::mem::take(&mut self.unflushed) {
            self.answer(Disposition::Examined(examined));
        }
    }

    /// Answers for the subject whose transaction has ended, as soon as it is on disk. Returns whether the connection
    /// survived it.
    fn conclude(&mut self, ended: Option<End>, flushed: bool) -> bool {
        let (Some(taken_up), Some(end), Some(db)) = (self.taken_up.take(), ended, &mut *self.connection) else {
            return true;
        };
        let waits_for_disk = !flushed && !db.is_sqlite() && self.shared.context.durable == Durable::Together;
        let entry_id = taken_up.entry_id.clone();
        let Examination { examined, lost, is_committed, .. } = taken_up.conclude(db, end, self.shared.context);
        if is_committed && waits_for_disk {
            self.unflushed.push(Unflushed { examined, entry_id, committed_at: Instant::now() });
            return true;
        }
        if is_committed && flushed {
            self.answer_flushed();
        }
        self.report(examined, lost)
    }

    /// Answers, and settles a commit whose answer was lost. Returns whether the connection survived.
    fn report(&mut self, examined: Examined, lost: Option<Lost<'a>>) -> bool {
        let Some(lost) = lost else {
            self.answer(Disposition::Examined(examined));
            return true;
        };
        let why = examined.reason.clone();
        *self.connection = None;
        match lost {
            Lost::Connection => self.answer(Disposition::Examined(examined)),
            Lost::Commit { entry_id, intended, wake } => self.settle(examined, &entry_id, intended, wake),
        }
        self.lose(&why);
        false
    }

    /// Of what was committed, what was not flushed may be lost with the connection.
    fn lose(&mut self, why: &str) {
        for Unflushed { examined, entry_id, .. } in std::mem::take(&mut self.unflushed) {
            let intended = examined.outcome;
            let unknown = Examined { outcome: Outcome::Unknown, reason: why.to_owned(), ..examined };
            self.settle(unknown, &entry_id, intended, None);
        }
    }

    /// Answers for what may or may not have been committed, as the ledger says.
    fn settle(&mut self, unknown: Examined, entry_id: &Id, intended: Outcome, wake: Option<Reservation<'a>>) {
        let context = self.shared.context;
        match self.connect() {
            Ok(db) => {
                let settled = settle::<S>(db, unknown, entry_id, intended, wake, context);
                // That it was not committed is no fault of the subject's.
                let fault = if settled.outcome == Outcome::Failed { Fault::Outage } else { settled.fault };
                self.answer(Disposition::Examined(Examined { fault, ..settled }));
            }
            Err(error) => {
                // It may have been queued.
                wake.into_iter().for_each(Reservation::keep);
                self.retire(Disposition::Examined(unknown), error);
            }
        }
    }

    fn connect(&mut self) -> Result<&mut DbConnection, Option<Error>> {
        if self.is_retired {
            return Err(None);
        }
        if self.connection.is_none() {
            let mut db = self.shared.url.connect_again(self.shared.access).map_err(Some)?;
            db.expect_many().map_err(|error| Some(error.into()))?;
            self.is_prepared = false;
            *self.connection = Some(db);
        }
        self.connection.as_mut().ok_or(None)
    }

    fn answer(&mut self, fate: Disposition<'a>) {
        let _ = self.answers.send(Ok(Done { worker: self.number, fate, retired: None }));
    }

    /// Answers, and says once why this worker has no connection.
    fn retire(&mut self, fate: Disposition<'a>, error: Option<Error>) {
        self.is_retired = true;
        let _ = self.answers.send(Ok(Done { worker: self.number, fate, retired: error }));
    }
}

fn is_flush_due(unflushed: &[Unflushed]) -> bool {
    unflushed.first().is_some_and(|first| FLUSHED_WITHIN <= first.committed_at.elapsed())
}
