//! Which worker gets which subject, and which subjects wait until no other worker is in their way.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Mutex, PoisonError};

use anyhow::Error;
use tracing::warn;

use crate::rules::Id;
use crate::store::db::errors;
use crate::sweep::examine::attempt::{Company, Job, Stage};
use crate::text::redact;

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

    /// The number of workers for which there is room in flight.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    pub fn in_flight(&self) -> usize {
        self.in_hand() + self.parked.len() + self.alone.len()
    }

    /// True while a subject is in hand that nobody else is to be at work beside.
    pub fn is_one_alone(&self) -> bool {
        self.is_one_alone
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
