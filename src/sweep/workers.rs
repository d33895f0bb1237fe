//! The workers: one thread and one connection each, taking up subjects side by side.
//!
//! The coordinator alone counts, reports and decides when to stop. It looks at the candidates and hands out those about
//! which something is to be written: only while there is room in flight, so memory stays small, while the limit could
//! still bear it, so the limit is exact, and while a wake is left for the agent, so the oldest of its work gets it.

mod queues;
mod worker;

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use anyhow::{Error, Result};

use super::context::ExamineContext;
use super::examine::attempt::{Job, Prospect};
use super::examined::Examined;
use super::limits::{Full, Limits};
use super::scan::{Ahead, Scan, look_ahead};
use super::summary::Deferred;
use crate::store::connect::open::Url;
use crate::store::{Access, DbConnection, Subject};
use queues::{Contention, Queues};
use worker::{Common, Reply, Worker};

/// Subjects in flight for each worker: enough that none is idle while the coordinator looks at the next ones.
const IN_FLIGHT_PER_WORKER: usize = 64;

/// The connections of a sweep, opened when first needed.
pub struct Workers {
    url: Url,
    access: Access,
    connections: Vec<Option<DbConnection>>,
}

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
        let (access, limits_of_all, contention) = (self.access, limits.clone(), Contention::default());
        let shared = Common { url: &self.url, access, context, limits: limits_of_all, contention };
        thread::scope(|scope| {
            let (sender, replies) = channel();
            let queues = self.connections.iter_mut().enumerate().map(|(worker, connection)| {
                let ((queue, jobs), replies, shared) = (channel(), sender.clone(), &shared);
                scope.spawn(move || Worker::<S>::new(worker, connection, shared, replies).work(&jobs));
                queue
            });
            let queues = Queues::new(queues.collect(), &shared.contention);
            drop(sender);
            let not_begun = Deferred::default();
            let coordinator = Coordinator { queues, context, limits, report, waiting: None, failure: None, not_begun };
            look_ahead(candidates, context, |candidates| coordinator.coordinate(candidates, &replies))
        })
    }
}

struct Coordinator<'s, 'a, R> {
    queues: Queues<'s, 'a>,
    context: &'s ExamineContext<'a>,
    limits: &'s mut Limits,
    report: R,
    /// A job whose agent's last wakes are reserved, and may yet be given back.
    waiting: Option<Box<Job<'a>>>,
    failure: Option<Error>,
    not_begun: Deferred,
}

impl<'a, R: FnMut(Examined)> Coordinator<'_, 'a, R> {
    /// Hands out and counts until all that was handed out is answered.
    fn coordinate<S: Subject>(
        mut self,
        candidates: &mut Ahead<'_, 'a, S>,
        replies: &Receiver<(usize, Reply<'a>)>,
    ) -> Result<Deferred> {
        loop {
            while self.has_room() {
                let waiting = self.waiting.take().map(|job| Ok(Prospect::TakeUp(job)));
                let Some(prospect) = waiting.or_else(|| candidates.next()) else { break };
                self.limits.progress.step();
                match prospect {
                    Err(error) => self.failure = Some(error),
                    Ok(Prospect::PassedOver) => {}
                    Ok(Prospect::Report(examined)) => self.count(*examined),
                    Ok(Prospect::TakeUp(job)) => self.hand_out(job),
                }
                if self.waiting.is_some() {
                    break;
                }
                // However much there is to look at, what was done is reported soon.
                while let Ok((worker, reply)) = replies.try_recv() {
                    self.take(worker, reply);
                }
            }
            if !self.may_begin() {
                self.queues.give_up_waiting().for_each(|job| self.not_begun.add(Deferred::one(&job.candidate)));
            }
            self.queues.send_one_alone();
            if self.queues.in_flight() == 0 {
                let waiting = self.waiting.iter().map(|job| Deferred::one(&job.candidate));
                waiting.for_each(|job| self.not_begun.add(job));
                return self.failure.map_or(Ok(self.not_begun), Err);
            }
            let no_worker = |_| (0, Reply::Panicked(Box::new("no worker is left") as Box<dyn Any + Send>));
            let (worker, reply) = replies.recv().unwrap_or_else(no_worker);
            self.take(worker, reply);
        }
    }

    fn has_room(&self) -> bool {
        let room = IN_FLIGHT_PER_WORKER * self.queues.len();
        self.may_begin() && self.queues.in_flight() < self.limits.bearable(room) && !self.queues.is_one_alone()
    }

    fn may_begin(&self) -> bool {
        self.failure.is_none() && !self.limits.are_over()
    }

    fn hand_out(&mut self, mut job: Box<Job<'a>>) {
        match job.reserve(self.context.wakes) {
            Ok(()) => self.queues.send(*job),
            Err(Full::ForNow) => self.waiting = Some(job),
            Err(Full::ForGood) => job.into_deferred(self.context).into_iter().for_each(|examined| self.count(examined)),
        }
    }

    /// A panic in a worker goes on here.
    fn take(&mut self, worker: usize, reply: Reply<'a>) {
        match reply {
            Reply::Panicked(panic) => resume_unwind(panic),
            Reply::Retired(error) => {
                let failure = self.queues.retire(worker, error);
                self.failure = self.failure.take().or(failure);
            }
            Reply::Examined(examined) => {
                self.limits.progress.step();
                self.queues.answered(worker, &examined.id);
                self.count(*examined);
            }
            Reply::NotBegun(job) => {
                self.limits.progress.step();
                self.queues.answered(worker, &job.candidate.id);
                match self.may_begin() {
                    true => self.queues.send(*job),
                    false => self.not_begun.add(Deferred::one(&job.candidate)),
                }
            }
        }
    }

    fn count(&mut self, examined: Examined) {
        self.limits.count(examined.outcome);
        (self.report)(examined);
    }
}
