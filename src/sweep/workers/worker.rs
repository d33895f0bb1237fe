//! One worker: takes up the subjects that it is given, and answers for each.
//!
//! A subject's transaction ends in the message that begins the next one's. While nothing else is to be done, it ends at
//! once: nothing stays locked for want of work. What is committed is answered for when it is on disk, of several
//! subjects at once.

use std::any::Any;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Error;

use crate::rules::Id;
use crate::store::connect::open::Url;
use crate::store::db::errors;
use crate::store::{Access, DbConnection, Durable, Ending, Subject};
use crate::sweep::{
    Attempt, Company, Examination, ExamineContext, Examined, Fault, Job, Limits, Lost, Outcome, Reservation, Stage,
    UnknownCommit, look_alone, settle, take_up,
};

/// How long what was committed waits to be flushed with others: longer than a disk takes, shorter than anybody notices.
const FLUSHED_WITHIN: Duration = Duration::from_millis(100);

/// Where workers of this sweep were in one another's way.
#[derive(Default)]
pub struct Contention {
    /// The agents whose work cannot be shared by workers: one of them found the agent in other hands, or waited in vain
    /// for a row, as where a trigger of the host's writes the agent's row, which each worker shares.
    agents: Mutex<HashSet<Id>>,
    /// A subject waited in vain while nobody else of this sweep was at work: rows are in others' hands.
    is_by_others: AtomicBool,
}

impl Contention {
    pub fn has(&self, agent: &Id) -> bool {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner).contains(agent)
    }

    /// Beside whom a subject is to be taken up again that got so far, if another worker of this sweep may have been in
    /// its way.
    pub fn company_of_next_try(&self, job: &Job, stage: &Stage) -> Option<Company> {
        let waited_in_vain = matches!(stage, Stage::Failed(error) if errors::is_lock_timeout(error));
        match job.company {
            Company::Anybody if waited_in_vain || *stage == Stage::AgentHeld => {
                self.agents.lock().unwrap_or_else(PoisonError::into_inner).insert(job.candidate.group.clone());
                Some(Company::OtherAgents)
            }
            Company::OtherAgents if waited_in_vain && !self.is_by_others.load(Ordering::Relaxed) => {
                Some(Company::Nobody)
            }
            Company::Nobody if waited_in_vain => {
                self.is_by_others.store(true, Ordering::Relaxed);
                None
            }
            Company::Anybody | Company::OtherAgents | Company::Nobody => None,
        }
    }
}

/// What the workers of one kind share.
pub struct Common<'p, 'a> {
    pub url: &'p Url,
    pub access: Access,
    pub context: &'p ExamineContext<'a>,
    pub limits: Limits,
    pub contention: Contention,
}

/// What a worker replies, with its number.
pub enum Reply<'a> {
    /// What became of one subject that was handed out.
    Examined(Box<Examined>),
    /// The subject was not begun, or is to be taken up again.
    NotBegun(Box<Job<'a>>),
    /// Why the worker could not get a connection: it takes up nothing more.
    Retired(Error),
    Panicked(Box<dyn Any + Send>),
}

pub struct Worker<'p, 'a, S> {
    number: usize,
    connection: &'p mut Option<DbConnection>,
    shared: &'p Common<'p, 'a>,
    replies: Sender<(usize, Reply<'a>)>,
    /// The subject whose transaction has not ended.
    taken_up: Option<Attempt<'a, S>>,
    /// Committed, and perhaps not on disk yet.
    unflushed: Vec<Unflushed>,
    /// The server knows how it takes subjects of this kind.
    is_prepared: bool,
    /// It could not get a connection: it takes up nothing more.
    is_retired: bool,
}

/// A subject that is committed, and not answered for yet.
struct Unflushed {
    examined: Examined,
    entry_id: Id,
    committed_at: Instant,
}

impl<'p, 'a, S: Subject> Worker<'p, 'a, S> {
    /// Runs until the channel of jobs closes; a panic goes on in the coordinator.
    pub fn work(
        number: usize,
        connection: &'p mut Option<DbConnection>,
        shared: &'p Common<'p, 'a>,
        replies: Sender<(usize, Reply<'a>)>,
        jobs: &Receiver<Job<'a>>,
    ) {
        let (taken_up, unflushed, is_prepared, is_retired) = (None, Vec::new(), false, false);
        let mut worker: Worker<S> =
            Worker { number, connection, shared, replies, taken_up, unflushed, is_prepared, is_retired };
        let worked = catch_unwind(AssertUnwindSafe(|| {
            loop {
                // What nobody has been answered for yet does not wait for the next job.
                let job = match worker.taken_up.is_some() || !worker.unflushed.is_empty() {
                    false => jobs.recv().map_err(|_| TryRecvError::Disconnected),
                    true => jobs.try_recv(),
                };
                match job {
                    Ok(job) => worker.begin(job),
                    Err(TryRecvError::Empty) => worker.flush(),
                    Err(TryRecvError::Disconnected) => break worker.flush(),
                }
            }
        }));
        if let Err(panic) = worked {
            worker.reply(Reply::Panicked(panic));
        }
    }

    fn begin(&mut self, job: Job<'a>) {
        if self.shared.limits.are_over() {
            return self.reply(Reply::NotBegun(Box::new(job)));
        }
        if job.company == Company::Anybody && self.shared.contention.has(&job.candidate.group) {
            // The agent's one worker is not to wait for what this one has in hand.
            self.end();
            return self.reply(Reply::NotBegun(Box::new(job)));
        }
        // Before it is connected: the connection may be lost with it.
        if self.taken_up.is_none() && is_flush_due(&self.unflushed) {
            self.flush();
        }
        if self.connection.as_ref().is_some_and(DbConnection::are_plans_due) {
            self.end();
            self.is_prepared = false;
        }
        if let Err(error) = self.connect() {
            return self.retire(Reply::NotBegun(Box::new(job)), error);
        }
        match &job.decided {
            Some(_) => self.write(job),
            None => {
                self.end();
                self.look(job);
            }
        }
    }

    /// Looks at a subject that could not be looked at with the others.
    fn look(&mut self, job: Job<'a>) {
        if let Err(error) = self.connect() {
            return self.retire(Reply::NotBegun(Box::new(job)), error);
        }
        let Some(db) = &mut *self.connection else { return };
        match look_alone::<S>(db, &job.candidate.id, self.shared.context) {
            Some(Examination { examined, lost, .. }) => {
                self.report(examined, lost);
            }
            None => self.write(job),
        }
    }

    /// Begins the transaction of a subject, which commits the one before, and takes the subject up in it.
    fn write(&mut self, mut job: Job<'a>) {
        let (Common { context, access, .. }, Some(db)) = (self.shared, &mut *self.connection) else { return };
        if !self.is_prepared {
            db.plan_taking(S::KIND, &context.timeouts);
            self.is_prepared = true;
        }
        let flush = is_flush_due(&self.unflushed);
        let (ended, begun) = db.begin_next(*access, &context.timeouts, context.durable, flush);
        let is_alive = self.conclude(ended, flush);
        if !is_alive {
            // The connection that was lost had not begun it.
            return self.begin(job);
        }
        let Some(db) = &mut *self.connection else { return };
        let id = job.candidate.id.clone();
        if let Err(abort) = begun {
            // Its wake is given back before anybody hears of it.
            drop(job);
            self.taken_up = Some(Attempt::unseen(id, Stage::NotBegun));
            self.conclude(Some(Err(abort)), false);
            return;
        }
        let attempt: Attempt<S> = take_up(db, id, context, *access, job.wake.take());
        if let Stage::Failed(error) = &attempt.stage
            && db.stops_preparing_after(error)
        {
            // What failed is rolled back, whatever the reply is.
            db.end();
            job.wake = attempt.wake;
            return self.write(job);
        }
        if let Some(company) = self.shared.contention.company_of_next_try(&job, &attempt.stage) {
            let ended = db.end();
            if let Some(Ok(())) = ended {
                (job.company, job.wake) = (company, attempt.wake);
                return self.reply(Reply::NotBegun(Box::new(job)));
            }
            self.taken_up = Some(attempt);
            self.conclude(ended, true);
            return;
        }
        let is_written = attempt.stage == Stage::Written;
        self.taken_up = Some(attempt);
        // Whatever else came of it, why may have to be asked for.
        if !is_written {
            self.end();
        }
    }

    /// Ends the transaction that is under way.
    fn end(&mut self) {
        let ended = self.connection.as_mut().and_then(DbConnection::end);
        self.conclude(ended, true);
    }

    /// Ends the transaction that is under way, and answers for all.
    fn flush(&mut self) {
        self.end();
        let (Common { context, .. }, false) = (self.shared, self.unflushed.is_empty()) else { return };
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
            self.reply(Reply::Examined(Box::new(examined)));
        }
    }

    /// Answers for the subject whose transaction has ended, as soon as it is on disk. Returns whether the connection
    /// survived it.
    fn conclude(&mut self, ended: Option<Ending>, flushed: bool) -> bool {
        let (Some(attempt), Some(end), Some(db)) = (self.taken_up.take(), ended, &mut *self.connection) else {
            return true;
        };
        let waits_for_disk = !flushed && !db.is_sqlite() && self.shared.context.durable == Durable::Together;
        let entry_id = attempt.entry_id.clone();
        let Examination { examined, lost, is_committed, .. } = attempt.conclude(db, end, self.shared.context);
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
            self.reply(Reply::Examined(Box::new(examined)));
            return true;
        };
        let why = examined.reason.clone();
        *self.connection = None;
        match lost {
            Lost::Connection => self.reply(Reply::Examined(Box::new(examined))),
            Lost::Commit(commit) => self.settle(examined, commit),
        }
        self.lose(&why);
        false
    }

    /// Settles what was committed and not flushed: it may be lost with the connection.
    fn lose(&mut self, why: &str) {
        for Unflushed { examined, entry_id, .. } in std::mem::take(&mut self.unflushed) {
            let commit = UnknownCommit { entry_id, intended: examined.outcome, wake: None };
            let unknown = Examined { outcome: Outcome::Unknown, reason: why.to_owned(), ..examined };
            self.settle(unknown, commit);
        }
    }

    /// Answers for what may or may not have been committed, as the ledger says.
    fn settle(&mut self, unknown: Examined, commit: UnknownCommit<'a>) {
        let context = self.shared.context;
        match self.connect() {
            Ok(db) => {
                let settled = settle::<S>(db, unknown, commit, context);
                // That it was not committed is no fault of the subject's.
                let fault = if settled.outcome == Outcome::Failed { Fault::Outage } else { settled.fault };
                self.reply(Reply::Examined(Box::new(Examined { fault, ..settled })));
            }
            Err(error) => {
                // It may have been queued.
                commit.wake.into_iter().for_each(Reservation::keep);
                self.retire(Reply::Examined(Box::new(unknown)), error);
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

    fn reply(&self, reply: Reply<'a>) {
        let _ = self.replies.send((self.number, reply));
    }

    /// Replies, and says once why this worker has no connection.
    fn retire(&mut self, reply: Reply<'a>, error: Option<Error>) {
        self.is_retired = true;
        error.into_iter().for_each(|error| self.reply(Reply::Retired(error)));
        self.reply(reply);
    }
}

fn is_flush_due(unflushed: &[Unflushed]) -> bool {
    unflushed.first().is_some_and(|first| FLUSHED_WITHIN <= first.committed_at.elapsed())
}
