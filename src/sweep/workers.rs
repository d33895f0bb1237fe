//! The workers: one thread and one connection each, taking up subjects side by side.
//!
//! The coordinator alone counts, reports and decides when to stop. It looks at the candidates and hands out those about
//! which something is to be written: only while there is room in flight, so memory stays small, while the limit could
//! still bear it, so the limit is exact, and while a wake is left for the agent, so the oldest of its work gets it.

mod worker;

use std::any::Any;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use anyhow::{Error, Result};
use tracing::{Span, warn};

use super::{Ahead, Company, Deferred, ExamineContext, Examined, Full, Job, Limits, Prospect, Scan, look_ahead};
use crate::rules::Id;
use crate::store::connect::open::Url;
use crate::store::{Access, DbConnection, Subject};
use crate::text::redact;
use worker::{Common, Contention, Reply, Worker};

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
                let span = Span::current();
                scope.spawn(move || span.in_scope(|| Worker::<S>::work(worker, connection, shared, replies, &jobs)));
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
        let room = IN_FLIGHT_PER_WORKER * self.queues.queues.len();
        let bearable = self.limits.left.map_or(room, |left| room.min(left as usize));
        self.may_begin() && self.queues.in_flight() < bearable && !self.queues.is_one_alone
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

/// One queue for each worker.
pub struct Queues<'s, 'a> {
    queues: Vec<Queue<'a>>,
    contention: &'s Contention,
    /// Subjects in the hands of workers that do not do all work of their agent, with that agent.
    shared: HashMap<Id, Id>,
    /// Subjects of contended agents: each is sent to its agent's one worker when no other worker has such a subject in
    /// hand. Sent earlier, it would wait for a row that another worker of this sweep holds, and might wait in vain.
    parked: Vec<Job<'a>>,
    /// Subjects that waited in vain although one worker did all work of their agent: each is sent when nobody has
    /// anything in hand. decisions.md#rivals-within-a-sweep
    alone: Vec<Job<'a>>,
    is_one_alone: bool,
}

struct Queue<'a> {
    /// None: the worker has no connection.
    sender: Option<Sender<Job<'a>>>,
    /// Jobs that are not answered.
    in_flight: usize,
}

impl<'s, 'a> Queues<'s, 'a> {
    pub fn new(senders: Vec<Sender<Job<'a>>>, contention: &'s Contention) -> Queues<'s, 'a> {
        let queues = senders.into_iter().map(|sender| Queue { sender: Some(sender), in_flight: 0 }).collect();
        let (shared, parked, alone) = (HashMap::new(), Vec::new(), Vec::new());
        Queues { queues, contention, shared, parked, alone, is_one_alone: false }
    }

    pub fn in_flight(&self) -> usize {
        self.in_hand() + self.parked.len() + self.alone.len()
    }

    fn in_hand(&self) -> usize {
        self.queues.iter().map(|queue| queue.in_flight).sum()
    }

    /// Sends a job to its worker, at once or when nobody is in its way any more.
    pub fn send(&mut self, mut job: Job<'a>) {
        if self.contention.has(&job.candidate.group) {
            job.company = job.company.max(Company::OtherAgents);
        }
        let is_of_its_agent = |agent: &Id| *agent == job.candidate.group;
        match job.company {
            Company::Nobody => self.alone.push(job),
            Company::OtherAgents if self.shared.values().any(is_of_its_agent) => self.parked.push(job),
            Company::Anybody | Company::OtherAgents => self.hand_to_worker(job),
        }
    }

    /// A worker has answered for a subject, and holds no lock of it any more.
    pub fn answered(&mut self, worker: usize, subject: &Id) {
        self.queues[worker].in_flight -= 1;
        self.is_one_alone = false;
        if self.shared.remove(subject).is_some() {
            std::mem::take(&mut self.parked).into_iter().for_each(|job| self.send(job));
        }
    }

    /// The jobs that wait for other workers, none of which is sent any more.
    pub fn give_up_waiting(&mut self) -> impl Iterator<Item = Job<'a>> {
        std::mem::take(&mut self.parked).into_iter().chain(std::mem::take(&mut self.alone))
    }

    /// Sends a job that nobody else is to be at work beside, if there is one and nobody has anything in hand.
    pub fn send_one_alone(&mut self) {
        if self.in_hand() == 0
            && let Some(job) = self.alone.pop()
        {
            self.is_one_alone = true;
            self.hand_to_worker(job);
        }
    }

    /// Subjects of one lock group go to one worker: they lock the same rows, and would find one another busy. The
    /// groups of a worker that retired are spread over the others, whose own stay where they are. A subject that shares
    /// nothing goes to the worker that has the least to do.
    fn hand_to_worker(&mut self, job: Job<'a>) {
        let is_at_work = |place: &usize| self.queues[*place].sender.is_some();
        let at_work: Vec<usize> = (0..self.queues.len()).filter(is_at_work).collect();
        let is_shared = job.company == Company::Anybody;
        let together = if is_shared { &job.lock_group } else { &job.candidate.group };
        let place = match *together == job.candidate.id {
            true => at_work.iter().copied().min_by_key(|place| self.queues[*place].in_flight),
            false => {
                let first_choice = Some(place_of(together, self.queues.len())).filter(is_at_work);
                first_choice.or_else(|| at_work.get(place_of(together, at_work.len())).copied())
            }
        };
        let Queue { sender: Some(sender), in_flight } = &mut self.queues[place.unwrap_or_default()] else { return };
        if is_shared {
            self.shared.insert(job.candidate.id.clone(), job.candidate.group.clone());
        }
        // A worker that is gone has panicked: its reply says so.
        let _ = sender.send(job);
        *in_flight += 1;
    }

    /// A worker could not get a connection. The others go on; after the last one the sweep cannot, and this is why.
    pub fn retire(&mut self, worker: usize, error: Error) -> Option<Error> {
        self.queues[worker].sender = None;
        let left = self.queues.iter().filter(|queue| queue.sender.is_some()).count();
        if left == 0 {
            return Some(error);
        }
        warn!("one connection less, {left} go on: {}", redact(&format!("{error:#}")));
        None
    }
}

fn place_of(group: &Id, places: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    group.hash(&mut hasher);
    (hasher.finish() % places as u64) as usize
}
