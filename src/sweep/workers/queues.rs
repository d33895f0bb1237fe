//! Which worker gets which subject, and which subjects wait until no other worker has work of their agent in hand.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::mpsc::Sender;

use anyhow::Error;
use tracing::warn;

use super::contended::Contended;
use crate::rules::Id;
use crate::store::work::candidates::Candidate;
use crate::sweep::limits::Reservation;
use crate::text::redact;

/// A subject that a worker is to take up.
pub struct Job<'a> {
    pub candidate: Candidate,
    /// Those with the same go to one worker.
    pub lock_group: Id,
    /// There is something to write; else the worker looks first.
    pub is_looked_at: bool,
    /// The wake that it is to take.
    pub wake: Option<Reservation<'a>>,
    /// All of its agent's work goes to this worker.
    pub is_pinned: bool,
}

/// One queue for each worker.
pub struct Queues<'s, 'a> {
    queues: Vec<Queue<'a>>,
    contended: &'s Contended,
    /// Subjects in the hands of workers that do not do all work of their agent, with that agent.
    unpinned: HashMap<Id, Id>,
    /// Subjects of contended agents: each is sent to its agent's one worker when no other worker has such a subject in
    /// hand. Sent earlier, it would wait for a row that another worker of this sweep holds, and might wait in vain.
    parked: Vec<Job<'a>>,
}

struct Queue<'a> {
    /// None: the worker has no connection.
    sender: Option<Sender<Job<'a>>>,
    /// Jobs that are not answered.
    in_flight: usize,
}

impl<'s, 'a> Queues<'s, 'a> {
    pub fn new(senders: Vec<Sender<Job<'a>>>, contended: &'s Contended) -> Queues<'s, 'a> {
        let queues = senders.into_iter().map(|sender| Queue { sender: Some(sender), in_flight: 0 }).collect();
        Queues { queues, contended, unpinned: HashMap::new(), parked: Vec::new() }
    }

    /// For how many workers there is room in flight.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    pub fn in_flight(&self) -> usize {
        self.queues.iter().map(|queue| queue.in_flight).sum::<usize>() + self.parked.len()
    }

    /// Subjects of one lock group go to one worker: they lock the same rows, and would find one another busy. The
    /// groups of a worker that retired are spread over the others, whose own stay where they are. A subject that shares
    /// nothing goes to whoever has the least to do.
    pub fn send(&mut self, job: Job<'a>) {
        let job = Job { is_pinned: self.contended.has(&job.candidate.group), ..job };
        if job.is_pinned && self.unpinned.values().any(|agent| *agent == job.candidate.group) {
            return self.parked.push(job);
        }
        let is_at_work = |place: &usize| self.queues[*place].sender.is_some();
        let at_work: Vec<usize> = (0..self.queues.len()).filter(is_at_work).collect();
        let together = if job.is_pinned { &job.candidate.group } else { &job.lock_group };
        let place = match *together == job.candidate.id {
            true => at_work.iter().copied().min_by_key(|place| self.queues[*place].in_flight),
            false => {
                let first_choice = Some(place_of(together, self.queues.len())).filter(is_at_work);
                first_choice.or_else(|| at_work.get(place_of(together, at_work.len())).copied())
            }
        };
        let Queue { sender: Some(sender), in_flight } = &mut self.queues[place.unwrap_or_default()] else { return };
        if !job.is_pinned {
            self.unpinned.insert(job.candidate.id.clone(), job.candidate.group.clone());
        }
        // A worker that is gone has panicked: its answer says so.
        let _ = sender.send(job);
        *in_flight += 1;
    }

    /// A worker has answered for a subject, and holds no lock of it any more.
    pub fn answered(&mut self, worker: usize, subject: &Id) {
        self.queues[worker].in_flight -= 1;
        if self.unpinned.remove(subject).is_some() {
            std::mem::take(&mut self.parked).into_iter().for_each(|job| self.send(job));
        }
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
