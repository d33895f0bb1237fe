//! The workers: one thread and one connection each, taking up subjects side by side.
//!
//! The coordinator alone counts, reports and decides when to stop. It looks at the candidates and hands out those about
//! which something is to be written: only while there is room in flight, so memory stays small, while the limit could
//! still bear it, so the limit is exact, and while a wake is left for the agent, so the oldest of his work gets it.

mod answers;
mod contended;
mod queues;
mod worker;

use std::any::Any;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use anyhow::{Error, Result};

use super::context::ExamineContext;
use super::examine::look::{Looked, Seen};
use super::limits::{Full, Limits};
use super::outcome::Examined;
use super::scan::Scan;
use super::scan::ahead::{Ahead, look_ahead};
use super::tally::Deferred;
use crate::store::connect::open::Url;
use crate::store::work::candidates::Candidate;
use crate::store::{Access, DbConnection, Subject};
use answers::{Answer, Disposition, Done};
use contended::Contended;
use queues::{Job, Queues};
use worker::{Shared, Worker};

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
        let (access, limits_of_all, contended) = (self.access, limits.clone(), Contended::default());
        let shared = Shared { url: &self.url, access, context, limits: limits_of_all, contended };
        thread::scope(|scope| {
            let (sender, answers) = channel();
            let queues = self.connections.iter_mut().enumerate().map(|(worker, connection)| {
                let ((queue, jobs), answers, shared) = (channel(), sender.clone(), &shared);
                scope.spawn(move || Worker::<S>::new(worker, connection, shared, answers).work(&jobs));
                queue
            });
            let queues = Queues::new(queues.collect(), &shared.contended);
            drop(sender);
            let coordinator = Coordinator { queues, limits, report, failure: None, not_begun: Deferred::default() };
            look_ahead(candidates, |candidates| coordinator.coordinate(candidates, context, &answers))
        })
    }
}

struct Coordinator<'s, 'a, R> {
    queues: Queues<'s, 'a>,
    limits: &'s mut Limits,
    report: R,
    failure: Option<Error>,
    not_begun: Deferred,
}

impl<'a, R: FnMut(Examined)> Coordinator<'_, 'a, R> {
    /// Hands out and counts until all that was handed out is answered.
    fn coordinate<S: Subject>(
        mut self,
        candidates: &mut Ahead<S>,
        context: &ExamineContext<'a>,
        answers: &Receiver<Answer<'a>>,
    ) -> Result<Deferred> {
        let room = IN_FLIGHT_PER_WORKER * self.queues.len();
        let mut waiting = None;
        loop {
            while self.failure.is_none()
                && self.queues.in_flight() < self.limits.bearable(room)
                && !self.limits.are_over()
            {
                let Some(looked) = waiting.take().map(Ok).or_else(|| candidates.next()) else { break };
                self.limits.progress.step();
                match looked.map(|looked| next_step(looked, context)) {
                    Err(error) => self.failure = Some(error),
                    Ok(NextStep::PassOver) => {}
                    Ok(NextStep::Report(examined)) => self.count(*examined),
                    Ok(NextStep::HandOut(job)) => self.queues.send(*job),
                    Ok(NextStep::Wait(looked)) => {
                        waiting = Some(*looked);
                        break;
                    }
                }
                // However much there is to look at, what was done is reported soon.
                while let Ok(answer) = answers.try_recv() {
                    self.take(answer);
                }
            }
            if self.queues.in_flight() == 0 {
                waiting.iter().for_each(|looked: &Looked| self.not_begun.add(left(&looked.candidate)));
                return self.failure.map_or(Ok(self.not_begun), Err);
            }
            self.take(answers.recv().unwrap_or_else(|_| Err(Box::new("no worker is left") as Box<dyn Any + Send>)));
        }
    }

    /// A panic in a worker goes on here.
    fn take(&mut self, answer: Answer<'a>) {
        let Done { worker, fate, retired } = answer.unwrap_or_else(|panic| resume_unwind(panic));
        self.limits.progress.step();
        self.queues.answered(worker, fate.subject());
        if let (None, Some(error)) = (&self.failure, retired) {
            self.failure = self.queues.retire(worker, error);
        }
        match fate {
            Disposition::HandedBack(job) if self.failure.is_none() && !self.limits.are_over() => self.queues.send(job),
            Disposition::HandedBack(Job { candidate, .. }) | Disposition::Dropped(candidate) => {
                self.not_begun.add(left(&candidate));
            }
            Disposition::Examined(examined) => self.count(examined),
        }
    }

    fn count(&mut self, examined: Examined) {
        self.limits.count(examined.outcome);
        (self.report)(examined);
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
            return NextStep::HandOut(Box::new(Job {
                candidate,
                lock_group,
                is_looked_at: false,
                wake: None,
                is_pinned: false,
            }));
        }
        Seen::Wanted(wanted) => wanted,
    };
    let wake = match wanted.agent.as_ref().map(|agent| context.wakes.reserve(agent)).transpose() {
        Ok(wake) => wake,
        Err(Full::ForNow) => return NextStep::Wait(Box::new(Looked { candidate, seen: Seen::Wanted(wanted) })),
        Err(Full::ForGood) => return NextStep::Report(Box::new(wanted.deferred(context))),
    };
    let lock_group = wanted.lock_group;
    NextStep::HandOut(Box::new(Job { candidate, lock_group, is_looked_at: true, wake, is_pinned: false }))
}
