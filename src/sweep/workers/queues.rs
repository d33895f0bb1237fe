//! Which worker gets which subject.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::mpsc::Sender;

use anyhow::Error;
use tracing::warn;

use crate::rules::Id;
use crate::store::candidates::Candidate;
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
}

/// One queue for each worker; of one without a connection, none.
pub struct Queues<'a> {
    queues: Vec<Option<Sender<Job<'a>>>>,
}

impl<'a> Queues<'a> {
    pub fn new(queues: Vec<Sender<Job<'a>>>) -> Queues<'a> {
        Queues { queues: queues.into_iter().map(Some).collect() }
    }

    /// For how many workers there is room in flight.
    pub fn len(&self) -> usize {
        self.queues.len()
    }

    /// Subjects of one group go to one worker: they lock the same rows, and would find one another busy. The groups of
    /// a worker that retired are spread over the others, whose own stay where they are.
    pub fn send(&self, job: Job<'a>) {
        let at_work: Vec<_> = self.queues.iter().flatten().collect();
        let first_choice = self.queues[place_of(&job.lock_group, self.queues.len())].as_ref();
        let queue = first_choice.unwrap_or_else(|| at_work[place_of(&job.lock_group, at_work.len())]);
        // A worker that is gone has panicked: its answer says so.
        let _ = queue.send(job);
    }

    /// A worker could not get a connection. The others go on; after the last one the sweep cannot, and this is why.
    pub fn retire(&mut self, worker: usize, error: Error) -> Option<Error> {
        self.queues[worker] = None;
        let left = self.queues.iter().flatten().count();
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
